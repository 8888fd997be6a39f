import { DeliveryError } from '@recount/collect/delivery-error';
import { takeProcessLock } from '@recount/local-postgres/process-lock';
import { ulid } from 'ulid';
import type { RecordTarget } from './record-target.ts';
import { sendStream } from './send/send-stream.ts';
import { toSessionName } from './send/session-name.ts';
import { createGrowthNotice } from './spool/growing-stream.ts';
import {
  listSpool,
  readSize,
  readSpoolNote,
  removeFromSpool,
  type SpoolNote,
  type SpoolPlace,
  toSpoolPlace,
  writeSpoolNote,
} from './spool/spool-folder.ts';

/** The result for a waiting stream. */
interface FlushedStream {
  streamId: string;
  sizeBytes: number;
  /** Undefined if its note cannot be read. */
  note: SpoolNote | undefined;
  /** `waiting` means it will be sent later. `refused` means that the server rejects it; it stays in the spool. */
  state: 'sent' | 'waiting' | 'refused';
  /** Why it was not sent. */
  reason: string | null;
}

/**
 * Sends the waiting streams of the spool, oldest first, except those that another process writes or sends. A server
 * that cannot be reached is not tried again. Rejects if the spool cannot be read, or the signal aborts.
 */
export async function* flushSpool(
  folder: string,
  target: RecordTarget,
  signal: AbortSignal,
): AsyncGenerator<FlushedStream> {
  const unreachable = new Map<string, string>();
  for (const streamId of await listSpool(folder)) {
    signal.throwIfAborted();
    const place = toSpoolPlace(folder, streamId);
    const lock = takeProcessLock(place.lock);
    if (lock === undefined) continue;
    try {
      const flushed = await flushStream(streamId, place, target, unreachable, signal);
      if (flushed !== undefined) yield flushed;
    } finally {
      lock.remove();
    }
  }
}

/** Undefined if another process has sent it since then. */
async function flushStream(
  streamId: string,
  place: SpoolPlace,
  target: RecordTarget,
  unreachable: Map<string, string>,
  signal: AbortSignal,
): Promise<FlushedStream | undefined> {
  const note = await readSpoolNote(place);
  const sizeBytes = await readSize(place.bytes);
  if (note === undefined) {
    if ((await readSize(place.note)) === 0 && sizeBytes === 0) return undefined;
    return { streamId, sizeBytes, note, state: 'refused', reason: `${place.note} cannot be read` };
  }
  const stay = (state: 'waiting' | 'refused', reason: string): FlushedStream => ({
    streamId,
    sizeBytes,
    note,
    state,
    reason,
  });
  if (note.refusal !== null) return stay('refused', note.refusal);
  if (sizeBytes > 0) {
    const key = JSON.stringify(note.target);
    const known = unreachable.get(key);
    if (known !== undefined) return stay('waiting', known);
    if ((await target.findPlace(note.target)) === undefined) {
      return stay('waiting', note.target.kind === 'local' ? 'it is not running' : 'its key is not known here');
    }
    try {
      await sendWhole(place, note, sizeBytes, target, signal);
    } catch (error) {
      if (!(error instanceof DeliveryError)) throw error;
      if (error.code === 'rejected' || error.code === 'mismatch' || error.code === 'closed') {
        await writeSpoolNote(place, { ...note, refusal: error.message });
        return stay('refused', error.message);
      }
      unreachable.set(key, error.message);
      return stay('waiting', error.message);
    }
  }
  await removeFromSpool(place);
  return { streamId, sizeBytes, note, state: 'sent', reason: null };
}

async function sendWhole(
  place: SpoolPlace,
  initialNote: SpoolNote,
  sizeBytes: number,
  target: RecordTarget,
  signal: AbortSignal,
): Promise<void> {
  let note = { ...initialNote, sessionId: toSessionName(initialNote) };
  const update = async (change: { sentAs?: string }): Promise<void> => {
    note = { ...note, ...change };
    await writeSpoolNote(place, note);
  };
  const options = {
    place,
    growth: createGrowthNotice(sizeBytes, true),
    readNote: () => note,
    rename: () => update({ sentAs: ulid() }),
    findPlace: () => target.findPlace(note.target),
    onUnavailable: () => undefined,
    signal,
  };
  await sendStream(options, undefined);
}
