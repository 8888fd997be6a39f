import { type FileHandle, open } from 'node:fs/promises';
import { DeliveryError } from '@recount/collect/delivery-error';
import { createBackoff } from '@recount/service/retry';
import type { ApiPlace } from '../../connection/api-client.ts';
import type { GrowingStream } from '../spool/growing-stream.ts';
import type { SpoolNote, SpoolPlace } from '../spool/spool-folder.ts';
import { createLiveClient, type LiveClient } from './live-client.ts';
import { createStreamBody } from './stream-body.ts';

type NamedNote = SpoolNote & { sessionId: string };

interface SendStreamOptions {
  place: SpoolPlace;
  growth: GrowingStream;
  /** The current note, with the session to send it under. */
  readNote(): NamedNote;
  /**
   * Restarts the stream under another name, because the API closed the old one, or does not move it to another session.
   */
  rename(): Promise<void>;
  /** The currently available API; undefined if there is none. */
  findPlace(): Promise<ApiPlace | undefined>;
  /** Called each time the API cannot be reached. */
  onUnavailable(message: string): void;
  signal: AbortSignal;
}

/** The stream is new, so the API need not be asked for its state. */
export const FRESH = 0;

const PAUSES = { firstMs: 500, longestMs: 30_000, isRandom: true };
const CHECK_IDLE_MS = 60_000;

/**
 * Sends a stream until it has ended and the API has stored it durably. Resumes after failures; once the stream has
 * ended, one failure stops it. Rejects with DeliveryError, or if the signal aborts.
 */
export async function sendStream(options: SendStreamOptions, initialOffset: typeof FRESH | undefined): Promise<void> {
  const { place, growth, signal } = options;
  const file = await open(place.bytes, 'r');
  let offset: number | undefined = initialOffset;
  const backoff = createBackoff(PAUSES);
  let isJustRenamed = false;
  /** The session under which the API has the stream; undefined if unknown. */
  let sentSession: string | undefined;
  try {
    for (;;) {
      signal.throwIfAborted();
      const isLastTry = growth.isEnded;
      const note = options.readNote();
      const isToBeMoved = sentSession !== undefined && sentSession !== note.sessionId;
      try {
        const client = await connect(options, note);
        offset ??= await client.readOffset(signal);
        const progress = await sendOnce(client, options, file, { offset, note, isToBeMoved });
        if (progress !== offset || isToBeMoved) sentSession = note.sessionId;
        if (progress === 'complete') return;
        offset = progress;
        backoff.reset();
        isJustRenamed = false;
      } catch (error) {
        if (!(error instanceof DeliveryError)) throw error;
        if (error.code === 'closed' && growth.isEnded && offset === growth.size) return;
        const isBegunAgain = error.code === 'closed' || (error.code === 'rejected' && isToBeMoved);
        offset = isBegunAgain ? FRESH : toRecoveryOffset(error, offset);
        if (isBegunAgain) {
          sentSession = undefined;
          if (isJustRenamed) throw error;
          await options.rename();
          isJustRenamed = true;
        }
        if (error.code !== 'unavailable') continue;
        options.onUnavailable(error.message);
        if (isLastTry) throw error;
        await waitForRetry(growth, Math.min(error.retryAfterMs ?? backoff.next(), PAUSES.longestMs), signal);
      }
    }
  } finally {
    await file.close();
  }
}

async function connect({ findPlace }: SendStreamOptions, note: NamedNote): Promise<LiveClient> {
  const api = await findPlace();
  if (api === undefined) throw new DeliveryError('unavailable', 'No local installation runs');
  const { sentAs: streamId, sessionId, agent, sourceFormat } = note;
  return createLiveClient(api, { streamId, sessionId, agent, sourceFormat });
}

/**
 * Makes one request, with what belongs to the session of `note`. Resolves to the number of bytes that the API has then.
 */
async function sendOnce(
  client: LiveClient,
  { growth, readNote, signal }: SendStreamOptions,
  file: FileHandle,
  { offset, note, isToBeMoved }: { offset: number; note: NamedNote; isToBeMoved: boolean },
): Promise<number | 'complete'> {
  const isNamed = (): boolean => readNote().sessionId !== note.sessionId;
  while (offset === growth.size && !growth.isEnded && !signal.aborted && !isToBeMoved && !isNamed())
    await growth.waitForChange(CHECK_IDLE_MS, signal);
  signal.throwIfAborted();
  if (isNamed()) return offset;
  const isLast = growth.isEnded;
  if (offset > growth.size) throw new DeliveryError('rejected', 'The server has more of the stream than this machine');
  const body = offset < growth.size ? createStreamBody(file, growth, { offset, isOver: isNamed }) : undefined;
  const receipt = await client.send({ offset, body, isLast, end: readNote().end }, signal);
  return isLast && receipt.stored_bytes === growth.size ? 'complete' : receipt.stored_bytes;
}

/** The place to continue; undefined if the API must be asked. Rethrows permanent errors. */
function toRecoveryOffset(error: DeliveryError, offset: number | undefined): number | undefined {
  if (error.code === 'unavailable') return undefined;
  // The same answer again would be no progress.
  if (error.code === 'mismatch' && error.storedBytes !== offset) return error.storedBytes;
  throw error;
}

/** The end of the stream ends the pause. */
async function waitForRetry(growth: GrowingStream, delayMs: number, signal: AbortSignal): Promise<void> {
  const deadlineMs = performance.now() + delayMs;
  for (;;) {
    const leftMs = deadlineMs - performance.now();
    if (leftMs <= 0 || growth.isEnded || signal.aborted) return;
    await growth.waitForChange(leftMs, signal);
  }
}
