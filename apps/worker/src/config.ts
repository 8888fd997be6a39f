import { type Environment, readInteger, readServiceConfig, readText, type ServiceConfig } from '@recount/config';
import { isTracingWanted } from '@recount/telemetry';

export interface WorkerConfig extends ServiceConfig {
  /** Transcripts ingested at once by this process. */
  concurrency: number;
  /** Longer lines are skipped with an error. */
  maxLineBytes: number;
  /** Where /metrics is served; undefined: nowhere. */
  metrics: { host: string; port: number } | undefined;
  /** Whether spans are sent to where the variables of OpenTelemetry say. */
  isTraced: boolean;
}

const DEFAULT_MAX_LINE_BYTES = 64 * 1024 * 1024;

/** Throws ConfigError. */
export function readWorkerConfig(environment: Environment): WorkerConfig {
  const metricsPort = readInteger(environment, 'RECOUNT_WORKER_METRICS_PORT', { fallback: 0, min: 0, max: 65_535 });
  return {
    ...readServiceConfig(environment),
    concurrency: readInteger(environment, 'RECOUNT_WORKER_CONCURRENCY', { fallback: 2, min: 1, max: 64 }),
    maxLineBytes: readInteger(environment, 'RECOUNT_MAX_LINE_BYTES', {
      fallback: DEFAULT_MAX_LINE_BYTES,
      min: 1024,
      max: 256 * 1024 * 1024,
    }),
    metrics:
      metricsPort === 0
        ? undefined
        : { host: readText(environment, 'RECOUNT_WORKER_METRICS_HOST', '127.0.0.1'), port: metricsPort },
    isTraced: isTracingWanted(environment),
  };
}
