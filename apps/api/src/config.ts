import { fileURLToPath } from 'node:url';
import { DEFAULT_REPORT_TIMEOUT_MS } from '@recount/db';
import { DEFAULT_MAX_TRANSCRIPT_BYTES } from '@recount/ingest';
import {
  ConfigError,
  type Environment,
  integer,
  metricsVariables,
  port,
  readEnvironment,
  serviceVariables,
  toMetricsConfig,
  toServiceConfig,
} from '@recount/service/config';
import { z } from 'zod';
import { readProviderSettings } from './provider-settings.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const TIB = 1024 ** 4;

/** Every variable that `recount api` reads. */
export const apiEnvironment = z.object({
  ...serviceVariables,
  RECOUNT_HOST: z.string().default('127.0.0.1').describe('listen address of the API'),
  RECOUNT_PORT: port(7878).describe('listen port of the API; 0: any free port'),
  RECOUNT_MAX_CLIENT_CONNECTIONS: integer(4096, 1, 1_000_000).describe(
    'open connections of one process; fewer if file descriptors are short',
  ),
  RECOUNT_MAX_TRANSCRIPT_BYTES: integer(DEFAULT_MAX_TRANSCRIPT_BYTES, 1024, TIB).describe('decoded size of one upload'),
  RECOUNT_MAX_CONCURRENT_UPLOADS: integer(16, 1, 10_000).describe(
    'concurrent uploads, half of them from one key; further ones get 429 with Retry-After',
  ),
  RECOUNT_UPLOAD_IDLE_TIMEOUT_MS: integer(60_000, 100, HOUR_MS).describe(
    'an upload that is silent for this long is aborted',
  ),
  RECOUNT_EXPORT_STALL_TIMEOUT_MS: integer(60_000, 100, HOUR_MS).describe(
    'an export whose client reads nothing for this long is aborted',
  ),
  RECOUNT_MAX_REQUESTS_PER_MINUTE: integer(60_000, 1, 10_000_000).describe('requests of one key, without uploads'),
  RECOUNT_REPORT_TIMEOUT_MS: integer(DEFAULT_REPORT_TIMEOUT_MS, 1, HOUR_MS).describe(
    'a report with a statement that takes longer gets 503',
  ),
  RECOUNT_MAX_FAILED_KEYS_PER_MINUTE: integer(30, 1, 1_000_000).describe(
    'wrong keys from one address; beyond that, unknown keys are not looked up',
  ),
  RECOUNT_TRUST_PROXY: z
    .string()
    .optional()
    .describe('addresses or networks of trusted proxies (X-Forwarded-For), separated by commas'),
  RECOUNT_OIDC_PROVIDERS: z
    .string()
    .optional()
    .describe('JSON file of OpenID providers to sign in with; needs `RECOUNT_SECRET_KEY`'),
  RECOUNT_OIDC_CHECK_INTERVAL_MS: integer(5 * MINUTE_MS, 1000, 24 * HOUR_MS).describe(
    'a browser in use is checked with its OpenID provider this often',
  ),
  RECOUNT_OIDC_MAX_UNCHECKED_MS: integer(HOUR_MS, MINUTE_MS, 720 * HOUR_MS).describe(
    'a sign-in whose provider gives no refresh token ends after this time',
  ),
  RECOUNT_LIVE_MAX_STREAMS: integer(100, 1, 100_000).describe(
    'open streams of a workspace, half of them of one key; further ones get 429',
  ),
  RECOUNT_LIVE_MAX_STREAM_BYTES: integer(256 * MIB, 1024, TIB).describe('size of one stream'),
  RECOUNT_LIVE_MAX_HELD_BYTES: integer(64 * MIB, 1024, TIB).describe(
    'unfinished lines and unstored bytes of all streams of one process; streams beyond it get 429',
  ),
  RECOUNT_LIVE_IDLE_TIMEOUT_MS: integer(HOUR_MS / 4, 1000, 24 * HOUR_MS).describe(
    'a stream that is silent for this long is closed as aborted',
  ),
  RECOUNT_LIVE_EVENT_RETENTION_MS: integer(24 * HOUR_MS, 0, 8760 * HOUR_MS).describe(
    'events stay for this long after the end of their stream',
  ),
  RECOUNT_LIVE_MAX_READERS: integer(1000, 1, 100_000).describe(
    'readers of events of one process; further ones get 429',
  ),
  RECOUNT_LIVE_HEARTBEAT_MS: integer(15_000, 100, HOUR_MS).describe(
    'how often readers without events get a keep-alive',
  ),
  RECOUNT_LIVE_SLOW_READER_TIMEOUT_MS: integer(30_000, 100, HOUR_MS).describe(
    'a reader that reads nothing for this long is dropped',
  ),
  RECOUNT_METRICS_PORT: metricsVariables.port,
  RECOUNT_METRICS_HOST: metricsVariables.host,
  RECOUNT_LOW_SPACE_BYTES: integer(2 * GIB, 0, 1024 * TIB).describe(
    'free bytes of a disk below which `/readyz` says `low`',
  ),
  RECOUNT_MIN_FREE_BYTES: integer(256 * MIB, 0, 1024 * TIB).describe(
    'free bytes of a disk below which uploads are refused',
  ),
  RECOUNT_DATABASE_DIRECTORY: z
    .string()
    .optional()
    .describe('data directory of a PostgreSQL on this machine; `recount up` sets it'),
  RECOUNT_DASHBOARD_DIRECTORY: z
    .string()
    .optional()
    .describe('a built dashboard; defaults to the build in the checkout'),
});

/** The folder where a clone has the built dashboard. */
const DASHBOARD_DIRECTORY = fileURLToPath(new URL('../../web/dist', import.meta.url));

/** The settings are explained in `apiEnvironment`. */
export type ApiConfig = ReturnType<typeof readApiConfig>;
export type LiveConfig = ApiConfig['live'];
export type SpaceConfig = ApiConfig['space'];

/** Throws ConfigError. */
export function readApiConfig(environment: Environment) {
  if (environment.RECOUNT_METRICS_PUBLIC === 'true') {
    throw new ConfigError(
      'RECOUNT_METRICS_PUBLIC was removed: /metrics has its own port. Set RECOUNT_METRICS_PORT, and let Prometheus scrape that.',
    );
  }
  const read = readEnvironment(apiEnvironment, environment);
  const service = toServiceConfig(read);
  const providersFile = read.RECOUNT_OIDC_PROVIDERS;
  if (providersFile !== undefined && service.alerts.secretKey === undefined) {
    throw new ConfigError(
      'RECOUNT_OIDC_PROVIDERS needs RECOUNT_SECRET_KEY, which encrypts tokens: make one by `openssl rand -base64 32`',
    );
  }
  return {
    ...service,
    oidc: {
      providers: providersFile === undefined ? [] : readProviderSettings(providersFile, environment),
      checkIntervalMs: read.RECOUNT_OIDC_CHECK_INTERVAL_MS,
      maxUncheckedMs: read.RECOUNT_OIDC_MAX_UNCHECKED_MS,
    },
    host: read.RECOUNT_HOST,
    port: read.RECOUNT_PORT,
    maxClientConnections: read.RECOUNT_MAX_CLIENT_CONNECTIONS,
    maxTranscriptBytes: read.RECOUNT_MAX_TRANSCRIPT_BYTES,
    maxConcurrentUploads: read.RECOUNT_MAX_CONCURRENT_UPLOADS,
    uploadIdleTimeoutMs: read.RECOUNT_UPLOAD_IDLE_TIMEOUT_MS,
    exportStallTimeoutMs: read.RECOUNT_EXPORT_STALL_TIMEOUT_MS,
    maxRequestsPerMinute: read.RECOUNT_MAX_REQUESTS_PER_MINUTE,
    reportTimeoutMs: read.RECOUNT_REPORT_TIMEOUT_MS,
    maxFailedKeysPerMinute: read.RECOUNT_MAX_FAILED_KEYS_PER_MINUTE,
    trustProxy: read.RECOUNT_TRUST_PROXY,
    metrics: toMetricsConfig(read.RECOUNT_METRICS_HOST, read.RECOUNT_METRICS_PORT),
    live: {
      maxOpenStreams: read.RECOUNT_LIVE_MAX_STREAMS,
      maxStreamBytes: read.RECOUNT_LIVE_MAX_STREAM_BYTES,
      maxHeldBytes: read.RECOUNT_LIVE_MAX_HELD_BYTES,
      idleTimeoutMs: read.RECOUNT_LIVE_IDLE_TIMEOUT_MS,
      eventRetentionMs: read.RECOUNT_LIVE_EVENT_RETENTION_MS,
      maxReaders: read.RECOUNT_LIVE_MAX_READERS,
      heartbeatMs: read.RECOUNT_LIVE_HEARTBEAT_MS,
      slowReaderTimeoutMs: read.RECOUNT_LIVE_SLOW_READER_TIMEOUT_MS,
    },
    dashboardDirectory: read.RECOUNT_DASHBOARD_DIRECTORY ?? DASHBOARD_DIRECTORY,
    space: {
      lowBytes: read.RECOUNT_LOW_SPACE_BYTES,
      minFreeBytes: read.RECOUNT_MIN_FREE_BYTES,
      databaseDirectory: read.RECOUNT_DATABASE_DIRECTORY,
    },
  };
}
