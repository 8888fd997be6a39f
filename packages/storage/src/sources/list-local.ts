import { accessSync, closeSync, constants, type Dirent, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, opendir, stat } from 'node:fs/promises';
import { normalize, sep } from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { SourceError, toSourceError } from './source-error.ts';
import { toFailed, toSkipped } from './source-item.ts';
import { toShownName } from './source-name.ts';
import {
  admitObject,
  type ByteRange,
  type ListContext,
  type ListedItem,
  type StoredObject,
} from './transcript-item.ts';

const READ_CHUNK_BYTES = 256 * 1024;

/**
 * The bytes that an open file had when it was opened. Later appends are left to the next run. Fails with `changed` if
 * the file is truncated or overwritten during the read, so that parts of two versions never pass for one. Closes the
 * file.
 */
async function* readVersion(
  handle: FileHandle,
  opened: Stats,
  range: ByteRange = { start: 0, end: opened.size },
): AsyncGenerator<Buffer> {
  try {
    const end = Math.min(range.end, opened.size);
    let sum = 0;
    for await (const chunk of readBytes(handle, range.start, end)) {
      sum = crc32(chunk, sum);
      yield chunk;
    }
    if (!hasChanged(await handle.stat(), opened)) return;
    let sumNow = 0;
    for await (const chunk of readBytes(handle, range.start, end)) sumNow = crc32(chunk, sumNow);
    if (sumNow !== sum) throw toChanged('was rewritten');
  } finally {
    await handle.close();
  }
}

async function* readBytes(handle: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let position = start; position < end; ) {
    const length = Math.min(READ_CHUNK_BYTES, end - position);
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.allocUnsafeSlow(length), position });
    if (bytesRead === 0) throw toChanged('was cut');
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function hasChanged({ size, mtimeMs }: Stats, opened: Stats): boolean {
  if (size < opened.size) throw toChanged('was cut');
  return size !== opened.size || mtimeMs !== opened.mtimeMs;
}

const toChanged = (what: string): SourceError =>
  new SourceError('changed', `${what} while it was being read; run it again`);

/** Files up to this size are read in one piece and without a thread, because that costs a fifth of the time. */
const MAX_WHOLE_BYTES = 256 * 1024;
const FOLDER_BATCH_ENTRIES = 1024;
const SEPARATOR = Buffer.from(sep);
const SLASH = Buffer.from('/');

/** The types of `opendir` only know names as text. */
type FolderEntry = Dirent<Buffer>;

/**
 * Lists one path given by the user, a file, or everything in a folder. Only the path itself may be a symbolic link.
 * Below it, paths are bytes, because names need not be UTF-8.
 */
export async function* listLocal(given: string, context: ListContext): AsyncGenerator<ListedItem> {
  const path = Buffer.from(given);
  let stats: Stats;
  try {
    stats = await stat(path);
  } catch (error) {
    yield fail(path, given.includes('\uFFFD') ? explainLostBytes(error) : error);
    return;
  }
  if (stats.isFile()) {
    yield admitObject(toObject(path, stats, true, context.signal), context);
  } else if (stats.isDirectory()) {
    let isEmpty = true;
    for await (const item of walkFolder(Buffer.from(normalize(given)), 0, context)) {
      isEmpty = false;
      yield item;
    }
    if (isEmpty) yield toSkipped(toShownName(path), 'empty-folder');
  } else {
    yield toSkipped(toShownName(path), 'not-a-file');
  }
}

async function* walkFolder(folder: Buffer, depth: number, context: ListContext): AsyncGenerator<ListedItem> {
  let entries: FolderEntry[];
  try {
    entries = await readFolder(folder, context.limits.maxFolderEntries);
  } catch (error) {
    yield fail(folder, error);
    return;
  }
  for (const entry of entries) {
    context.signal.throwIfAborted();
    const path = toEntryPath(folder, entry.name);
    if (!entry.isDirectory()) yield await describeEntry(path, context);
    else if (depth < context.limits.maxDepth) yield* walkFolder(path, depth + 1, context);
    else yield toSkipped(toShownName(path), 'too-deep');
  }
}

/**
 * Sorted as S3 sorts keys. A folder counts as `name/`, so `<session>.jsonl` comes right before `<session>/subagents`.
 */
async function readFolder(folder: Buffer, maxEntries: number): Promise<FolderEntry[]> {
  const entries: { key: Buffer; entry: FolderEntry }[] = [];
  const options = { bufferSize: FOLDER_BATCH_ENTRIES, encoding: 'buffer' as BufferEncoding };
  for await (const entry of (await opendir(folder, options)) as unknown as AsyncIterable<FolderEntry>) {
    if (entries.length === maxEntries)
      throw new SourceError('limit-exceeded', `more than ${maxEntries} folder entries`);
    entries.push({ key: entry.isDirectory() ? Buffer.concat([entry.name, SLASH]) : entry.name, entry });
  }
  return entries.sort((a, b) => Buffer.compare(a.key, b.key)).map(({ entry }) => entry);
}

function toEntryPath(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat(folder.at(-1) === SEPARATOR[0] ? [folder, name] : [folder, SEPARATOR, name]);
}

async function describeEntry(path: Buffer, context: ListContext): Promise<ListedItem> {
  try {
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) return toSkipped(toShownName(path), 'link');
    if (!stats.isFile()) return toSkipped(toShownName(path), 'not-a-file');
    const item = admitObject(toObject(path, stats, false, context.signal), context);
    if (item.kind === 'object') accessSync(path, constants.R_OK);
    return item;
  } catch (error) {
    return fail(path, error);
  }
}

function toObject(path: Buffer, stats: Stats, isExplicit: boolean, signal: AbortSignal): StoredObject {
  const shownPath = toShownName(path);
  return {
    kind: 'object',
    location: shownPath,
    path: shownPath,
    sizeBytes: stats.size,
    modifiedAtMs: stats.mtimeMs,
    isExplicit,
    open: (range) => openFile(path, isExplicit, range, signal),
    readWhole: stats.size > MAX_WHOLE_BYTES ? undefined : async () => readWhole(path, isExplicit, signal),
  };
}

async function openFile(
  path: Buffer,
  followLink: boolean,
  range: ByteRange | undefined,
  signal: AbortSignal,
): Promise<Readable> {
  const { handle, stats } = await openHandle(path, followLink, signal);
  const stream = Readable.from(readVersion(handle, stats, range), { objectMode: false });
  // A generator that was never started does not close the file.
  stream.once('close', () => void handle.close().catch(() => undefined));
  return addAbortSignal(signal, stream);
}

/**
 * A file may have been replaced by a link or a FIFO since it was listed. The link is not followed, and the FIFO does not
 * block.
 */
const toOpenFlags = (followLink: boolean): number =>
  constants.O_RDONLY | constants.O_NONBLOCK | (followLink ? 0 : constants.O_NOFOLLOW);

function assertFile(stats: Stats): void {
  if (!stats.isFile()) throw new SourceError('changed', 'no longer a file');
}

async function openHandle(
  path: Buffer,
  followLink: boolean,
  signal: AbortSignal,
): Promise<{ handle: FileHandle; stats: Stats }> {
  const handle = await open(path, toOpenFlags(followLink));
  try {
    signal.throwIfAborted();
    const stats = await handle.stat();
    assertFile(stats);
    return { handle, stats };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** All bytes of a file, in one version as of `readVersion`; undefined if it has grown beyond `MAX_WHOLE_BYTES`. */
function readWhole(path: Buffer, followLink: boolean, signal: AbortSignal): Buffer | undefined {
  signal.throwIfAborted();
  const file = openSync(path, toOpenFlags(followLink));
  try {
    const opened = fstatSync(file);
    assertFile(opened);
    if (opened.size > MAX_WHOLE_BYTES) return undefined;
    const bytes = readBeginning(file, opened.size);
    const isTorn = hasChanged(fstatSync(file), opened) && !readBeginning(file, opened.size).equals(bytes);
    if (isTorn) throw toChanged('was rewritten');
    return bytes;
  } finally {
    closeSync(file);
  }
}

function readBeginning(file: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length);
  for (let position = 0; position < length; ) {
    const count = readSync(file, bytes, position, length - position, position);
    if (count === 0) throw toChanged('was cut');
    position += count;
  }
  return bytes;
}

/** The shell passed bytes that are not UTF-8; Node replaced them by U+FFFD, so the original name is lost. */
function explainLostBytes(error: unknown): unknown {
  const failure = toSourceError(error);
  if (!(failure instanceof SourceError) || failure.code !== 'not-found') return error;
  const message = 'no such file or folder; if its name is not UTF-8, give the folder that contains it';
  return new SourceError('not-found', message, { cause: error });
}

function fail(path: Buffer, error: unknown): ListedItem {
  const failure = toSourceError(error);
  if (!(failure instanceof SourceError)) throw failure;
  return toFailed(toShownName(path), failure);
}
