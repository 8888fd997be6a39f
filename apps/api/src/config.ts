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
import { type LiveConfig, readLiveConfig } from './live/live-config.ts';
import { readSpaceConfig, type SpaceConfig } from './space/space-config.ts';

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
