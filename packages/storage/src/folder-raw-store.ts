import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, opendir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { assertByteRange } from './byte-range.ts';
import { createCheckedDownload } from './checked-download.ts';
import { isAbsent, toFolderError } from './folder-errors.ts';
import { assertKeyPrefix, assertObjectKey, isKeySegment } from './object-key-rules.ts';
import { type ByteRange, type RawObjectInfo, type RawStore, RawStoreError } from './raw-store.ts';
import { writeBody } from './write-body.ts';

/** What a put gathers while the last write is under way: one writev call a megabyte is as fast as one buffer. */
const WRITE_BUFFER_BYTES = 1024 * 1024;
/** Every read wakes a thread, which costs about as much as reading these bytes. */
const READ_CHUNK_BYTES = 256 * 1024;
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
/** Not a key segment, so no key leads into it and list() passes it by. Inside the store, so that rename() is atomic. */
const INCOMING_DIRECTORY = '.incoming';

/**
 * Raw objects as files under `directory`, which is made if need be, for its owner alone. An acknowledged put survives a
 * power cut: the file, its name and the folders above it are all synced. One folder may serve many processes.
 */
export function createFolderRawStore({ directory }: { directory: string }): RawStore {
  const root = resolve(directory);
  const incoming = join(root, INCOMING_DIRECTORY);

  const pathOf = (key: string): string => {
    assertObjectKey(key);
    return join(root, key);
  };

  async function newTemporaryPath(): Promise<string> {
    const firstCreated = await mkdir(incoming, { recursive: true, mode: DIRECTORY_MODE });
    if (firstCreated !== undefined) await syncDirectories(root, dirname(firstCreated));
    return join(incoming, randomUUID());
  }

  async function put(
    key: string,
    body: AsyncIterable<Uint8Array>,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<{ sizeBytes: number }> {
    const path = pathOf(key);
    const sizeBytes = await writeBody(body, signal, (chunks) =>
      withFolderErrors(key, async () => {
        const temporaryPath = await newTemporaryPath();
        try {
          await writeDurably(temporaryPath, chunks);
          signal?.throwIfAborted();
          await mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
          await rename(temporaryPath, path);
        } finally {
          await rm(temporaryPath, { force: true });
        }
        await syncDirectories(dirname(path), root);
      }),
    );
    return { sizeBytes };
  }

  async function get(
    key: string,
    { range, signal }: { range?: ByteRange | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<Readable> {
    const path = pathOf(key);
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

  async function stat(key: string): Promise<RawObjectInfo | undefined> {
    const stats = await readStats(pathOf(key), key);
    return stats?.isFile() ? { key, sizeBytes: stats.size, modifiedAtMs: stats.mtimeMs } : undefined;
  }

  async function deleteObject(key: string): Promise<void> {
    const path = pathOf(key);
    try {
      await unlink(path);
      await syncDirectories(dirname(path), dirname(path));
    } catch (error) {
      if (!isAbsent(error)) throw toFolderError(error, key);
    }
  }

  async function* list(prefix: string): AsyncGenerator<RawObjectInfo> {
    assertKeyPrefix(prefix);
    yield* walk(prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix);
  }

  async function* walk(parentKey: string, prefix: string): AsyncGenerator<RawObjectInfo> {
    for await (const entry of readEntries(join(root, parentKey))) {
      const key = parentKey + entry.name;
      if (!isKeySegment(entry.name) || !key.startsWith(prefix)) continue;
      if (entry.isDirectory()) yield* walk(`${key}/`, prefix);
      const stats = entry.isFile() ? await readStats(join(root, key), key) : undefined;
      if (stats) yield { key, sizeBytes: stats.size, modifiedAtMs: stats.mtimeMs };
    }
  }

  async function check(): Promise<void> {
    await withFolderErrors(root, async () => {
      const path = await newTemporaryPath();
      await writeFile(path, '', { flag: 'wx', mode: FILE_MODE });
      await unlink(path);
    });
  }

  async function abortStaleUploads(olderThanMs: number): Promise<number> {
    let removed = 0;
    for await (const entry of readEntries(incoming)) {
      const path = join(incoming, entry.name);
      const stats = await readStats(path, path);
      if (!stats?.isFile() || Date.now() - stats.mtimeMs < olderThanMs) continue;
      await withFolderErrors(path, () => rm(path, { force: true }));
      removed += 1;
    }
    return removed;
  }

  return { put, get, stat, delete: deleteObject, list, check, abortStaleUploads, close: async () => {} };
}

async function withFolderErrors<T>(subject: string, operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw toFolderError(error, subject);
  }
}

/**
 * Writes a new file and syncs it before it is closed. It is opened first, not by the stream: a stream that is destroyed
 * while it opens its file makes it after all, behind the back of who removes it.
 */
async function writeDurably(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await open(path, 'wx', FILE_MODE);
  await pipeline(chunks, handle.createWriteStream({ flush: true, highWaterMark: WRITE_BUFFER_BYTES }));
}

async function openExisting(path: string, key: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (isAbsent(error)) throw new RawStoreError('not-found', `No raw object at ${key}`);
    throw toFolderError(error, key);
  }
}

/** The open file's bytes; the handle is closed with the stream, and by the caller where this throws. */
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
  const source = handle.createReadStream({
    start: startByte,
    ...(endByte > startByte && { end: endByte - 1 }),
    highWaterMark: READ_CHUNK_BYTES,
  });
  const toError = (error: unknown) => toFolderError(error, key);
  return createCheckedDownload(source, { expectedBytes: endByte - startByte, toError, signal });
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

/** Syncs `from` and each folder above it up to `to`: a name is durable once the folder that holds it is. */
async function syncDirectories(from: string, to: string): Promise<void> {
  for (let path = from; path.length >= to.length; path = dirname(path)) {
    const handle = await open(path, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (path === dirname(path)) return;
  }
}
