import { type FileHandle, open } from 'node:fs/promises';
import { takeProcessLock } from '@recount/local-postgres/process-lock';
import { createGrowthNotice, type GrowingStream } from './growing-stream.ts';
import {
  createSpoolFolder,
  measureSpool,
  type SpoolNote,
  type SpoolPlace,
  type StreamEnd,
  toSpoolPlace,
  writeSpoolNote,
} from './spool-folder.ts';

export interface SpoolWriter {
  place: SpoolPlace;
  /** The current note. */
  note: SpoolNote;
  growth: GrowingStream;
  /** Appends; durable within a second. Rejects if that fails, or with SpoolFullError. */
  append(chunk: Uint8Array): Promise<void>;
  name(sessionId: string): Promise<void>;
  /** Sets the id for sending from now on. */
  rename(sentAs: string): Promise<void>;
  /** Makes the last bytes durable. To be called once; nothing can be appended afterwards. */
  end(end: StreamEnd | null): Promise<void>;
  /** Lets other processes send it. */
  release(): void;
}

export class SpoolFullError extends Error {
  override name = 'SpoolFullError';
}

/** The time that bytes may remain unsynced. */
const SYNC_MS = 500;

/** Creates a stream in the spool, which holds at most `maxSpoolBytes` in total. Accessible only to the owner. */
export async function createSpoolWriter(
  folder: string,
  maxSpoolBytes: number,
  initialNote: SpoolNote,
): Promise<SpoolWriter> {
  await createSpoolFolder(folder);
  const maxBytes = maxSpoolBytes - (await measureSpool(folder));
  const place = toSpoolPlace(folder, initialNote.streamId);
  const lock = takeProcessLock(place.lock);
  if (lock === undefined) throw new Error(`${place.lock} is locked by another process`);
  let note = initialNote;
  await writeSpoolNote(place, note);
  const file = await open(place.bytes, 'ax', 0o600);
  const growth = createGrowthNotice();
  const sync = createSync(file);

  let updating: Promise<void> = Promise.resolve();
  const update = async (change: Partial<SpoolNote>): Promise<void> => {
    note = { ...note, ...change };
    growth.notify();
    // In sequence. The last update wins, even if an earlier one has failed.
    updating = updating.then(
      () => writeSpoolNote(place, note),
      () => writeSpoolNote(place, note),
    );
    await updating;
  };

  return {
    place,
    get note() {
      return note;
    },
    growth,
    async append(chunk) {
      if (growth.size + chunk.length > maxBytes) throw new SpoolFullError('the spool is full');
      try {
        await file.appendFile(chunk);
      } catch (error) {
        // A full disk may accept a part, which counts.
        growth.grow((await file.stat()).size - growth.size);
        throw error;
      }
      sync.request();
      growth.grow(chunk.length);
    },
    name: (sessionId) => update({ sessionId }),
    rename: (sentAs) => update({ sentAs }),
    async end(end) {
      try {
        await sync.stop();
        await file.close();
      } finally {
        await update({ end }).finally(growth.end);
      }
    },
    release: lock.remove,
  };
}

/** Syncs a file a moment after a request; concurrent requests share a sync. */
function createSync(file: FileHandle): { request(): void; stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let failure: unknown;
  return {
    request() {
      timer ??= setTimeout(() => {
        timer = undefined;
        running = running
          .then(() => file.datasync())
          .catch((error) => {
            failure = error;
          });
      }, SYNC_MS);
    },
    async stop() {
      clearTimeout(timer);
      await running;
      await file.sync();
      if (failure !== undefined) throw failure;
    },
  };
}
