import { fileURLToPath } from 'node:url';
import { DEFAULT_REPORT_TIMEOUT_MS } from '@recount/db';
import { DEFAULT_MAX_TRANSCRIPT_BYTES } from '@recount/ingest';
import {
  ConfigError,
  type Environment,
  type MetricsConfig,
  readInteger,
  readMetricsConfig,
  readServiceConfig,
  readText,
  type ServiceConfig,
} from '@recount/service/config';
import { isTracingWanted } from '@recount/service/telemetry';

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
function readLiveConfig(environment: Environment): LiveConfig {
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

export interface SpaceConfig {
  /** Free bytes of a disk below which it counts as low. */
  lowBytes: number;
  /** Free bytes of a disk below which uploads are refused. */
  minFreeBytes: number;
  /** Where the database's files are, if they are on this machine. */
  databaseDirectory: string | undefined;
}

const DEFAULT_LOW_BYTES = 2 * 1024 ** 3;
const DEFAULT_MIN_FREE_BYTES = 256 * 1024 ** 2;
const MAX_BYTES = 1024 ** 5;

/** Throws ConfigError. */
function readSpaceConfig(environment: Environment): SpaceConfig {
  const readBytes = (name: string, fallback: number): number =>
    readInteger(environment, name, { fallback, min: 0, max: MAX_BYTES });
  return {
    lowBytes: readBytes('RECOUNT_LOW_SPACE_BYTES', DEFAULT_LOW_BYTES),
    minFreeBytes: readBytes('RECOUNT_MIN_FREE_BYTES', DEFAULT_MIN_FREE_BYTES),
    databaseDirectory: readText(environment, 'RECOUNT_DATABASE_DIRECTORY'),
  };
}

export interface ApiConfig extends ServiceConfig {
  live: LiveConfig;
  /** Where the built dashboard lies. */
  dashboardDirectory: string;
  space: SpaceConfig;
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Open connections of this process, idle ones included; further ones are refused. */
  maxClientConnections: number;
  /** Decoded bytes of one upload. */
  maxTranscriptBytes: number;
  /** Uploads under way at once in this process; further ones are asked to come back. */
  maxConcurrentUploads: number;
  /** An upload that sends nothing for this long is given up. */
  uploadIdleTimeoutMs: number;
  /** An export whose reader takes nothing for this long is broken off. */
  exportStallTimeoutMs: number;
  /** Of one key, uploads apart: those are bounded by maxConcurrentUploads. */
  maxRequestsPerMinute: number;
  /** Of each statement that a report is made by. */
  reportTimeoutMs: number;
  /** Requests with a wrong key from one address; beyond it, keys not seen before are not even looked up. */
  maxFailedKeysPerMinute: number;
  /** Addresses or networks of proxies whose X-Forwarded-For is believed, separated by commas. */
  trustProxy: string | undefined;
  /** Where /metrics is served; undefined: nowhere. */
  metrics: MetricsConfig | undefined;
  /** Whether spans are sent to where the variables of OpenTelemetry say. */
  isTraced: boolean;
}

/** Of a clone, once it is built. */
const DASHBOARD_DIRECTORY = fileURLToPath(new URL('../../web/dist', import.meta.url));
const MAX_TRANSCRIPT_BYTES_LIMIT = 1024 ** 4;

/** Throws ConfigError. */
export function readApiConfig(environment: Environment): ApiConfig {
  if (readText(environment, 'RECOUNT_METRICS_PUBLIC') === 'true') {
    throw new ConfigError(
      'RECOUNT_METRICS_PUBLIC is no more: /metrics has a port of its own. Set RECOUNT_METRICS_PORT, and have Prometheus ask there.',
    );
  }
  return {
    ...readServiceConfig(environment),
    host: readText(environment, 'RECOUNT_HOST', '127.0.0.1'),
    port: readInteger(environment, 'RECOUNT_PORT', { fallback: 7878, min: 0, max: 65_535 }),
    maxClientConnections: readInteger(environment, 'RECOUNT_MAX_CLIENT_CONNECTIONS', {
      fallback: 4096,
      min: 1,
      max: 1_000_000,
    }),
    maxTranscriptBytes: readInteger(environment, 'RECOUNT_MAX_TRANSCRIPT_BYTES', {
      fallback: DEFAULT_MAX_TRANSCRIPT_BYTES,
      min: 1024,
      max: MAX_TRANSCRIPT_BYTES_LIMIT,
    }),
    maxConcurrentUploads: readInteger(environment, 'RECOUNT_MAX_CONCURRENT_UPLOADS', {
      fallback: 16,
      min: 1,
      max: 10_000,
    }),
    uploadIdleTimeoutMs: readInteger(environment, 'RECOUNT_UPLOAD_IDLE_TIMEOUT_MS', {
      fallback: 60_000,
      min: 100,
      max: 3_600_000,
    }),
    exportStallTimeoutMs: readInteger(environment, 'RECOUNT_EXPORT_STALL_TIMEOUT_MS', {
      fallback: 60_000,
      min: 100,
      max: 3_600_000,
    }),
    maxRequestsPerMinute: readInteger(environment, 'RECOUNT_MAX_REQUESTS_PER_MINUTE', {
      fallback: 60_000,
      min: 1,
      max: 10_000_000,
    }),
    reportTimeoutMs: readInteger(environment, 'RECOUNT_REPORT_TIMEOUT_MS', {
      fallback: DEFAULT_REPORT_TIMEOUT_MS,
      min: 1,
      max: 3_600_000,
    }),
    maxFailedKeysPerMinute: readInteger(environment, 'RECOUNT_MAX_FAILED_KEYS_PER_MINUTE', {
      fallback: 30,
      min: 1,
      max: 1_000_000,
    }),
    trustProxy: readText(environment, 'RECOUNT_TRUST_PROXY'),
    metrics: readMetricsConfig(environment, 'RECOUNT_METRICS'),
    isTraced: isTracingWanted(environment),
    live: readLiveConfig(environment),
    dashboardDirectory: readText(environment, 'RECOUNT_DASHBOARD_DIRECTORY', DASHBOARD_DIRECTORY),
    space: readSpaceConfig(environment),
  };
}
