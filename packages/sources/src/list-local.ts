import { constants, type Dirent, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, open, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { SourceError, toSourceError } from './source-error.ts';
import { toFailed, toSkipped } from './source-item.ts';
import { toDisplayName } from './source-name.ts';
import { admitObject, type ByteRange, type ListContext, type ListedItem, type StoredObject } from './stored-object.ts';

const READ_CHUNK_BYTES = 256 * 1024;
/** Files that are no longer are read in one piece: a stream costs several times as much as they do. */
const MAX_WHOLE_BYTES = 256 * 1024;
const FOLDER_BATCH_ENTRIES = 1024;

/** Lists one path given by the user: a file, or all that lies in a folder. Only the path itself may be a symbolic link. */
export async function* listLocal(path: string, context: ListContext): AsyncGenerator<ListedItem> {
  let stats: Stats;
  try {
    stats = await stat(path);
  } catch (error) {
    yield fail(path, error);
    return;
  }
  if (stats.isFile()) {
    yield admitObject(toObject(path, stats, true, context.signal), context);
  } else if (stats.isDirectory()) {
    let isEmpty = true;
    for await (const item of walkFolder(path, 0, context)) {
      isEmpty = false;
      yield item;
    }
    if (isEmpty) yield toSkipped(toDisplayName(path), 'empty-folder');
  } else {
    yield toSkipped(toDisplayName(path), 'not-a-file');
  }
}

async function* walkFolder(folder: string, depth: number, context: ListContext): AsyncGenerator<ListedItem> {
  let entries: Dirent[];
  try {
    entries = await readFolder(folder, context.limits.maxFolderEntries);
  } catch (error) {
    yield fail(folder, error);
    return;
  }
  for (const entry of entries) {
    context.signal.throwIfAborted();
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) yield await describeEntry(path, context);
    else if (depth < context.limits.maxDepth) yield* walkFolder(path, depth + 1, context);
    else yield toSkipped(toDisplayName(path), 'too-deep');
  }
}

/** Sorted as S3 sorts keys: a folder counts as `name/`, so that `<session>.jsonl` comes right before `<session>/subagents`. */
async function readFolder(folder: string, maxEntries: number): Promise<Dirent[]> {
  const entries: { key: string; entry: Dirent }[] = [];
  for await (const entry of await opendir(folder, { bufferSize: FOLDER_BATCH_ENTRIES })) {
    if (entries.length === maxEntries)
      throw new SourceError('limit-exceeded', `more than ${maxEntries} folder entries`);
    entries.push({ key: entry.isDirectory() ? `${entry.name}/` : entry.name, entry });
  }
  return entries.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ entry }) => entry);
}

async function describeEntry(path: string, context: ListContext): Promise<ListedItem> {
  try {
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) return toSkipped(toDisplayName(path), 'link');
    if (!stats.isFile()) return toSkipped(toDisplayName(path), 'not-a-file');
    const item = admitObject(toObject(path, stats, false, context.signal), context);
    if (item.kind === 'object') await access(path, constants.R_OK);
    return item;
  } catch (error) {
    return fail(path, error);
  }
}

function toObject(path: string, stats: Stats, isExplicit: boolean, signal: AbortSignal): StoredObject {
  return {
    kind: 'object',
    location: toDisplayName(path),
    path,
    sizeBytes: stats.size,
    modifiedAtMs: stats.mtimeMs,
    isExplicit,
    open: (range) => openFile(path, isExplicit, range, signal),
    readWhole: stats.size > MAX_WHOLE_BYTES ? undefined : () => readWhole(path, isExplicit, signal),
  };
}

async function openFile(
  path: string,
  followLink: boolean,
  range: ByteRange | undefined,
  signal: AbortSignal,
): Promise<Readable> {
  const { handle } = await openHandle(path, followLink, signal);
  const bounds = range ? { start: range.start, end: range.end - 1 } : {};
  return addAbortSignal(signal, handle.createReadStream({ highWaterMark: READ_CHUNK_BYTES, ...bounds }));
}

async function openHandle(
  path: string,
  followLink: boolean,
  signal: AbortSignal,
): Promise<{ handle: FileHandle; stats: Stats }> {
  // A file may have become a link or a FIFO since it was listed: neither follow the one nor wait for the other.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (followLink ? 0 : constants.O_NOFOLLOW);
  const handle = await open(path, flags);
  try {
    signal.throwIfAborted();
    const stats = await handle.stat();
    if (!stats.isFile()) throw new SourceError('changed', 'no longer a file');
    return { handle, stats };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** All bytes of a file; undefined where it has become longer than `MAX_WHOLE_BYTES`, or becomes so just now. */
async function readWhole(path: string, followLink: boolean, signal: AbortSignal): Promise<Buffer | undefined> {
  const { handle, stats } = await openHandle(path, followLink, signal);
  try {
    return stats.size > MAX_WHOLE_BYTES ? undefined : await readToEnd(handle, stats.size);
  } finally {
    await handle.close();
  }
}

/** All bytes of an open file; undefined where it has become longer than `sizeBytes`. */
async function readToEnd(handle: FileHandle, sizeBytes: number): Promise<Buffer | undefined> {
  const buffer = Buffer.allocUnsafeSlow(sizeBytes + 1);
  let length = 0;
  // Some file systems give less than is asked for, before the end as well.
  for (let isAtEnd = false; !isAtEnd && length < buffer.length; ) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
    length += bytesRead;
    // What is written after this moment counts as written after the reading.
    isAtEnd = bytesRead === 0 || length === sizeBytes;
  }
  return length > sizeBytes ? undefined : buffer.subarray(0, length);
}

function fail(path: string, error: unknown): ListedItem {
  const failure = toSourceError(error);
  if (!(failure instanceof SourceError)) throw failure;
  return toFailed(toDisplayName(path), failure);
}
