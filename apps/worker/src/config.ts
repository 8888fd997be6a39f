import {
  type Environment,
  integer,
  metricsVariables,
  readEnvironment,
  serviceVariables,
  toMetricsConfig,
  toServiceConfig,
} from '@recount/service/config';
import { z } from 'zod';

const MIB = 1024 ** 2;

/** Every variable that `recount worker` reads. */
export const workerEnvironment = z.object({
  ...serviceVariables,
  RECOUNT_WORKER_PROCESSES: integer(0, 0, 64).describe(
    'worker processes; 0: one, or with `recount up` one for every two cores',
  ),
  RECOUNT_WORKER_CONCURRENCY: integer(2, 1, 64).describe(
    'transcripts ingested alone concurrently; small ones are ingested in two batches besides',
  ),
  RECOUNT_MAX_LINE_BYTES: integer(64 * MIB, 1024, 256 * MIB).describe('in longer lines, long texts are cut'),
  RECOUNT_WORKER_METRICS_PORT: metricsVariables.port,
  RECOUNT_WORKER_METRICS_HOST: metricsVariables.host,
});

export type WorkerConfig = ReturnType<typeof readWorkerConfig>;

/** Throws ConfigError. `processes` is the number of processes if the environment does not state it. */
export function readWorkerConfig(environment: Environment, processes = 1) {
  const read = readEnvironment(workerEnvironment, environment);
  return {
    ...toServiceConfig(read),
    /** Number of worker processes, each with a core to itself. */
    processes: read.RECOUNT_WORKER_PROCESSES || processes,
    /** Number of transcripts ingested concurrently by each process. */
    concurrency: read.RECOUNT_WORKER_CONCURRENCY,
    maxLineBytes: read.RECOUNT_MAX_LINE_BYTES,
    metrics: toMetricsConfig(read.RECOUNT_WORKER_METRICS_HOST, read.RECOUNT_WORKER_METRICS_PORT),
  };
}
