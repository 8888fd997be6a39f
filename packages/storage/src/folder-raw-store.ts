import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, opendir, rm, statfs, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
import { createCheckedDownload } from './checked-download.ts';
import { type UndescribedStore, withDescriptions } from './described-objects.ts';
import {
  createDurableDirectories,
  type DurableDirectories,
  isAbsent,
  toFolderError,
  withFolderErrors,
} from './durable-directories.ts';
import { createFolderPuts, MAX_WHOLE_BYTES } from './folder-puts.ts';
import { assertKeyPrefix, assertObjectKey, isKeySegment } from './raw-object-key.ts';
import {
  assertByteRange,
  type ByteRange,
  type RawObjectInfo,
  type RawStore,
  RawStoreError,
  type StoreSpace,
} from './raw-store.ts';

/**
 * The free and total space of the disk that holds the absolute `path`; if nothing exists there yet, the space of the
 * nearest existing parent folder. Rejects with the system's error.
 */
export async function readDiskSpace(path: string): Promise<StoreSpace> {
  try {
    const { bavail, blocks, bsize } = await statfs(path);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(path) !== path;
    if (!isAbsent) throw error;
    return await readDiskSpace(dirname(path));
  }
}

/** Each read wakes a thread, which costs about as much as reading this many bytes. */
const READ_CHUNK_BYTES = 256 * 1024;
/** Opening a FIFO in place of an object would otherwise wait for a writer forever; no timeout or signal ends that. */
const READ_WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const DIRECTORY_MODE = 0o700;
/**
 * Not a valid key segment, so no key leads into it and list() skips it. It is inside the store so that rename() is
 * atomic.
 */
const INCOMING_DIRECTORY = '.incoming';

/**
 * Raw objects as files under `directory`, which is created if necessary, accessible only to its owner. An acknowledged
 * put survives a power cut. The file, its name and its parent folders are all synced. Several processes may share a
 * folder.
 */
export const createFolderRawStore = ({ directory }: { directory: string }): RawStore =>
  withDescriptions(new FolderObjects(resolve(directory)));

class FolderObjects implements UndescribedStore {
  readonly #root: string;
  readonly #incoming: string;
  readonly #directories: DurableDirectories;
  readonly put: RawStore['put'];
  readonly putAll: RawStore['putAll'];

  constructor(root: string) {
    this.#root = root;
    this.#incoming = join(root, INCOMING_DIRECTORY);
    this.#directories = createDurableDirectories(root, DIRECTORY_MODE);
    ({ put: this.put, putAll: this.putAll } = createFolderPuts({
      pathOf: (key) => this.#pathOf(key),
      incoming: this.#incoming,
      directories: this.#directories,
    }));
  }

  async get(
    key: string,
    { range, signal }: { range?: ByteRange | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<Readable> {
    const path = this.#pathOf(key);
    if (range) assertByteRange(range);
    signal?.throwIfAborted();
    const handle = await openExisting(path, key);
    try {
      return await openDownload(handle, key, range, signal);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async stat(key: string): Promise<RawObjectInfo | undefined> {
    const stats = await readStats(this.#pathOf(key), key);
    return stats?.isFile() ? { key, sizeBytes: stats.size, modifiedAtMs: stats.mtimeMs } : undefined;
  }

  async delete(key: string): Promise<void> {
    const path = this.#pathOf(key);
    try {
      await unlink(path);
      await this.#directories.sync(dirname(path));
    } catch (error) {
      if (!isAbsent(error)) throw toFolderError(error, key);
    }
  }

  async *list(prefix: string): AsyncGenerator<RawObjectInfo> {
    assertKeyPrefix(prefix);
    yield* this.#walk(prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix);
  }

  async *#walk(parentKey: string, prefix: string): AsyncGenerator<RawObjectInfo> {
    for await (const entry of readEntries(join(this.#root, parentKey))) {
      const key = parentKey + entry.name;
      if (!isKeySegment(entry.name) || !key.startsWith(prefix)) continue;
      if (entry.isDirectory()) yield* this.#walk(`${key}/`, prefix);
      const stats = entry.isFile() ? await readStats(join(this.#root, key), key) : undefined;
      if (stats) yield { key, sizeBytes: stats.size, modifiedAtMs: stats.mtimeMs };
    }
  }

  async abortStaleUploads(olderThanMs: number): Promise<number> {
    let removed = 0;
    for await (const entry of readEntries(this.#incoming)) {
      const path = join(this.#incoming, entry.name);
      const stats = await readStats(path, path);
      if (!stats?.isFile() || Date.now() - stats.mtimeMs < olderThanMs) continue;
      await withFolderErrors(path, () => rm(path, { force: true }));
      removed += 1;
    }
    return removed;
  }

  readSpace(): Promise<StoreSpace> {
    return withFolderErrors(this.#root, () => readDiskSpace(this.#root));
  }

  async close(): Promise<void> {}

  #pathOf(key: string): string {
    assertObjectKey(key);
    return join(this.#root, key);
  }
}

async function openExisting(path: string, key: string): Promise<FileHandle> {
  try {
    return await open(path, READ_WITHOUT_WAITING);
  } catch (error) {
    if (isAbsent(error)) throw new RawStoreError('not-found', `No raw object at ${key}`);
    throw toFolderError(error, key);
  }
}

/** The open file's bytes. The stream closes the handle; if this throws, the caller must. */
async function openDownload(
  handle: FileHandle,
  key: string,
  range: ByteRange | undefined,
  signal: AbortSignal | undefined,
): Promise<Readable> {
  const stats = await withFolderErrors(key, () => handle.stat());
  if (!stats.isFile()) throw new RawStoreError('not-found', `No raw object at ${key}`);
  const startByte = range?.startByte ?? 0;
  const endByte = Math.min(range?.endByteExclusive ?? stats.size, stats.size);
  if (range && startByte >= stats.size) {
    throw new RawStoreError('invalid-range', `The byte range starts at ${startByte} of ${stats.size} bytes in ${key}`);
  }
  const expectedBytes = endByte - startByte;
  if (expectedBytes <= MAX_WHOLE_BYTES) {
    const whole = Readable.from(await withFolderErrors(key, () => readWhole(handle, startByte, expectedBytes)));
    // An abort before anyone reads must not crash the process; readers still see the error.
    whole.on('error', () => {});
    return signal === undefined ? whole : addAbortSignal(signal, whole);
  }
  const toError = (error: unknown) => toFolderError(error, key);
  const source = handle.createReadStream({ start: startByte, end: endByte - 1, highWaterMark: READ_CHUNK_BYTES });
  return createCheckedDownload(source, { expectedBytes, toError, signal });
}

/** Reads bytes of an open file and closes it. Yields nothing if there are none. */
async function readWhole(handle: FileHandle, startByte: number, lengthBytes: number): Promise<Buffer[]> {
  if (lengthBytes === 0) {
    await handle.close();
    return [];
  }
  const { buffer, bytesRead } = await handle.read({ buffer: Buffer.allocUnsafeSlow(lengthBytes), position: startByte });
  if (bytesRead < lengthBytes) {
    throw new RawStoreError('unavailable', `The raw object ended after ${bytesRead} of ${lengthBytes} bytes`);
  }
  await handle.close();
  return [buffer];
}

async function readStats(path: string, subject: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw toFolderError(error, subject);
  }
}

async function* readEntries(path: string) {
  try {
    yield* await opendir(path);
  } catch (error) {
    if (!isAbsent(error)) throw toFolderError(error, path);
  }
}
