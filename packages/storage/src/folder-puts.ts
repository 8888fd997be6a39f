import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type DurableDirectories, withFolderErrors } from './durable-directories.ts';
import { peekChunks } from './peek-chunks.ts';
import type { NewObject, RawStore } from './raw-store.ts';
import { writeBody } from './write-body.ts';

/** Objects up to this size are written and read in one piece, because a stream costs several times as much. */
export const MAX_WHOLE_BYTES = 256 * 1024;
/** Bytes of one write. A put holds twice as many, and the last chunk. */
const WRITE_BUFFER_BYTES = 1024 * 1024;
/** Files that `putAll` has open at a time. */
const MAX_OPEN_FILES = 64;
const FILE_MODE = 0o600;

interface FolderPlaces {
  /** The file of an object. Throws `invalid-key`. */
  pathOf(key: string): string;
  /** The folder of temporary files, in the same file system. */
  incoming: string;
  directories: DurableDirectories;
}

/** A temporary file with all bytes of an object. */
interface StagedObject {
  key: string;
  path: string;
  temporaryPath: string;
  handle: FileHandle;
  sizeBytes: number;
  signal: AbortSignal | undefined;
}

type Outcome = PromiseSettledResult<{ sizeBytes: number }>;

/** Puts objects as files. A file is synced before it gets its name, and its folder afterwards. */
export function createFolderPuts(places: FolderPlaces): Pick<RawStore, 'put' | 'putAll'> {
  return {
    async put(key, body, { signal } = {}) {
      const [outcome] = await putTogether(places, [{ key, body, signal }]);
      if (outcome?.status !== 'fulfilled') throw outcome?.reason;
      return outcome.value;
    },
    async putAll(objects) {
      const outcomes: Outcome[] = [];
      for (let start = 0; start < objects.length; start += MAX_OPEN_FILES) {
        outcomes.push(...(await putTogether(places, objects.slice(start, start + MAX_OPEN_FILES))));
      }
      return outcomes;
    },
  };
}

/**
 * In three steps; each is done for all objects before the next. The first sync of a step writes what the file system's
 * journal has of all files or names, so that the others have little to do.
 */
async function putTogether(places: FolderPlaces, objects: readonly NewObject[]): Promise<Outcome[]> {
  const staged = await Promise.allSettled(objects.map((object) => stage(places, object)));
  const named = await continueWith(staged, (object) => nameDurably(places, object));
  const syncs = new Map<string, Promise<void>>();
  const syncOnce = (directory: string): Promise<void> => {
    const sync = syncs.get(directory) ?? places.directories.sync(directory);
    syncs.set(directory, sync);
    return sync;
  };
  return await continueWith(named, async ({ key, path, sizeBytes }) => {
    await withFolderErrors(key, () => syncOnce(dirname(path)));
    return { sizeBytes };
  });
}

/** Runs the next step for all that the last one has succeeded for. */
function continueWith<Input, Output>(
  outcomes: readonly PromiseSettledResult<Input>[],
  run: (input: Input) => Promise<Output>,
): Promise<PromiseSettledResult<Output>[]> {
  return Promise.allSettled(
    outcomes.map(async (outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason;
      return await run(outcome.value);
    }),
  );
}

/** Writes the body to a temporary file, which is not synced yet. */
async function stage(places: FolderPlaces, { key, body, signal }: NewObject): Promise<StagedObject> {
  const path = places.pathOf(key);
  const temporaryPath = join(places.incoming, randomUUID());
  const opened: FileHandle[] = [];
  try {
    const sizeBytes = await writeBody(body, signal, (chunks) =>
      withFolderErrors(key, async () => {
        const handle = await places.directories.within(places.incoming, () => open(temporaryPath, 'wx', FILE_MODE));
        opened.push(handle);
        await writeChunks(handle, chunks);
      }),
    );
    const [handle] = opened;
    if (handle === undefined) throw new TypeError('The body was written nowhere');
    return { key, path, temporaryPath, handle, sizeBytes, signal };
  } catch (error) {
    await discard(key, temporaryPath, opened);
    throw error;
  }
}

/** Makes a file's bytes durable and gives it its name, which is not durable yet. */
async function nameDurably({ directories }: FolderPlaces, staged: StagedObject): Promise<StagedObject> {
  const { key, path, temporaryPath, handle, signal } = staged;
  try {
    await withFolderErrors(key, async () => {
      await handle.sync();
      await handle.close();
    });
    signal?.throwIfAborted();
    await withFolderErrors(key, () => directories.within(dirname(path), () => rename(temporaryPath, path)));
    return staged;
  } catch (error) {
    await discard(key, temporaryPath, [handle]);
    throw error;
  }
}

/** Writes a new file, a megabyte while the next one comes, and leaves it open to be synced. */
async function writeChunks(handle: FileHandle, chunks: AsyncGenerator<Uint8Array>): Promise<void> {
  const { held, isWhole, chunks: all } = await peekChunks(chunks, MAX_WHOLE_BYTES + 1);
  if (isWhole) return await handle.writeFile(held);
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let writing = Promise.resolve();
  const write = async (): Promise<void> => {
    await writing;
    writing = handle.writeFile([Buffer.concat(waiting)]);
    // The next call reports why it failed.
    writing.catch(() => undefined);
    waiting = [];
    waitingBytes = 0;
  };
  try {
    for await (const chunk of all) {
      waiting.push(chunk);
      waitingBytes += chunk.length;
      if (waitingBytes >= WRITE_BUFFER_BYTES) await write();
    }
    await write();
  } finally {
    await writing;
  }
}

/** Closing a file again does no harm. */
async function discard(key: string, temporaryPath: string, handles: readonly FileHandle[]): Promise<void> {
  await withFolderErrors(key, async () => {
    for (const handle of handles) await handle.close();
    await rm(temporaryPath, { force: true });
  });
}
