import { type Environment, readInteger } from '@recount/service/config';

export interface LiveConfig {
  /** Open streams of a workspace at once; further ones are asked to come back. */
  maxOpenStreams: number;
  maxStreamBytes: number;
  /** A stream that is silent for so long is ended. */
  idleTimeoutMs: number;
  /** Events of a stream are kept for so long after its end. */
  eventRetentionMs: number;
  /** Readers of events of this process at once. */
  maxReaders: number;
  /** Between signs of life to a reader for whom there is nothing new. */
  heartbeatMs: number;
  /** A reader that takes nothing for so long is dropped. */
  slowReaderTimeoutMs: number;
}

const HOUR_MS = 3_600_000;
const MIB = 1024 ** 2;

/** Throws ConfigError. */
export function readLiveConfig(environment: Environment): LiveConfig {
  const read = (name: string, fallback: number, min: number, max: number): number =>
    readInteger(environment, name, { fallback, min, max });
  return {
    maxOpenStreams: read('RECOUNT_LIVE_MAX_STREAMS', 100, 1, 100_000),
    maxStreamBytes: read('RECOUNT_LIVE_MAX_STREAM_BYTES', 256 * MIB, 1024, 1024 ** 4),
    idleTimeoutMs: read('RECOUNT_LIVE_IDLE_TIMEOUT_MS', HOUR_MS / 4, 1000, 24 * HOUR_MS),
    eventRetentionMs: read('RECOUNT_LIVE_EVENT_RETENTION_MS', 24 * HOUR_MS, 0, 8760 * HOUR_MS),
    maxReaders: read('RECOUNT_LIVE_MAX_READERS', 1000, 1, 100_000),
    heartbeatMs: read('RECOUNT_LIVE_HEARTBEAT_MS', 15_000, 100, HOUR_MS),
    slowReaderTimeoutMs: read('RECOUNT_LIVE_SLOW_READER_TIMEOUT_MS', 30_000, 100, HOUR_MS),
  };
}
