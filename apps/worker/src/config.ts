import {
  type Environment,
  type MetricsConfig,
  readInteger,
  readMetricsConfig,
  readServiceConfig,
  type ServiceConfig,
} from '@recount/service/config';
import { isTracingWanted } from '@recount/service/telemetry';

export interface WorkerConfig extends ServiceConfig {
  /** Transcripts ingested at once by this process. */
  concurrency: number;
  /** Longer lines are skipped with an error. */
  maxLineBytes: number;
  /** Where /metrics is served; undefined: nowhere. */
  metrics: MetricsConfig | undefined;
  /** Whether spans are sent to where the variables of OpenTelemetry say. */
  isTraced: boolean;
}

const DEFAULT_MAX_LINE_BYTES = 64 * 1024 * 1024;

/** Throws ConfigError. */
export function readWorkerConfig(environment: Environment): WorkerConfig {
  return {
    ...readServiceConfig(environment),
    concurrency: readInteger(environment, 'RECOUNT_WORKER_CONCURRENCY', { fallback: 2, min: 1, max: 64 }),
    maxLineBytes: readInteger(environment, 'RECOUNT_MAX_LINE_BYTES', {
      fallback: DEFAULT_MAX_LINE_BYTES,
      min: 1024,
      max: 256 * 1024 * 1024,
    }),
    metrics: readMetricsConfig(environment, 'RECOUNT_WORKER_METRICS'),
    isTraced: isTracingWanted(environment),
  };
}
