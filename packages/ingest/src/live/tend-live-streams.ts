import {
  findLiveStream,
  type LiveStreamKey,
  listNeglectedStreams,
  pruneLiveEvents,
  takeOverSilentStream,
} from '@recount/db';
import { ulid } from 'ulid';
import { LiveError } from './live-error.ts';
import { createLiveWriter, type LiveDependencies } from './live-writer.ts';
import { settleLiveStream } from './settle-live-stream.ts';

export interface TendOptions {
  /** An open stream that is silent for this long has ended. */
  idleTimeoutMs: number;
  /** The time that events stay after the end of their stream. */
  eventRetentionMs: number;
  /**
   * Default one minute. A stream that ended this long ago and is no transcript yet was left behind by a dead process.
   */
  closingTimeoutMs?: number;
  /** Why a stream could not be ended or stored; it will be tried again. Never contains text of the stream. */
  onFailure: (stream: LiveStreamKey, error: unknown) => void;
}

const DEFAULT_CLOSING_TIMEOUT_MS = 60_000;
const STREAMS_PER_ROUND = 100;

/**
 * Ends abandoned streams, stores those that a dead process left behind, and deletes old events. Any number of processes
 * may do so concurrently. Throws if the database is unavailable.
 */
export async function tendLiveStreams(deps: LiveDependencies, options: TendOptions): Promise<void> {
  const { database } = deps.database;
  const nowMs = (deps.now ?? Date.now)();
  const toTime = (agoMs: number): string => new Date(nowMs - agoMs).toISOString();
  const silentSince = toTime(options.idleTimeoutMs);
  const endedBefore = toTime(options.closingTimeoutMs ?? DEFAULT_CLOSING_TIMEOUT_MS);
  for (const stream of await listNeglectedStreams(database, { silentSince, endedBefore }, STREAMS_PER_ROUND)) {
    try {
      if (stream.state === 'closing') await settle(deps, stream);
      else await endSilent(deps, stream, silentSince, options.idleTimeoutMs);
    } catch (error) {
      // Another process was faster.
      if (error instanceof LiveError) continue;
      options.onFailure(stream, error);
    }
  }
  while ((await pruneLiveEvents(database, toTime(options.eventRetentionMs))) > 0);
}

async function settle(deps: LiveDependencies, key: LiveStreamKey): Promise<void> {
  const stream = await findLiveStream(deps.database.database, key);
  if (stream !== undefined) await settleLiveStream(deps, stream);
}

async function endSilent(
  deps: LiveDependencies,
  key: LiveStreamKey,
  silentSince: string,
  silentMs: number,
): Promise<void> {
  const stream = await takeOverSilentStream(deps.database.database, key, { writerId: ulid(), silentSince });
  if (stream === undefined) return;
  const writer = await createLiveWriter(deps, stream, { maxBytes: Number.MAX_SAFE_INTEGER });
  await writer.end({ silentMs });
}
