import type { JobReport } from '@recount/ingest';
import { addPoolMetrics, type ConnectionPool } from '@recount/service/telemetry/pool-metrics';
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

export interface WorkerMetrics {
  registry: Registry;
  observeJob(report: JobReport): void;
  /** Messages and content blocks of a transcript that was ingested. */
  observeRows(rowCount: number): void;
}

const DURATION_BUCKETS_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 1800];

/** Counts what this process does; the backlog is among the API's metrics. */
export function createWorkerMetrics(pool: ConnectionPool): WorkerMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  addPoolMetrics(registry, pool);
  const durations = new Histogram({
    name: 'recount_job_duration_seconds',
    help: 'Jobs by outcome (done, superseded, gone, failed, outage, handed-back)',
    labelNames: ['outcome'],
    buckets: DURATION_BUCKETS_SECONDS,
    registers,
  });
  const failures = new Counter({
    name: 'recount_job_failures_total',
    help: 'Jobs that failed, by kind of reason; outage means store or database unavailable, not counted as an attempt',
    labelNames: ['kind'],
    registers,
  });
  const transcripts = new Counter({
    name: 'recount_ingested_transcripts_total',
    help: 'Transcripts whose rows were committed',
    registers,
  });
  const bytes = new Counter({ name: 'recount_ingested_bytes_total', help: 'Bytes of these', registers });
  const rows = new Counter({
    name: 'recount_ingested_rows_total',
    help: 'Messages and content blocks of these',
    registers,
  });
  return {
    registry,
    observeJob({ outcome, durationMs, reason, failureKind = 'unknown', sizeBytes = 0 }) {
      durations.observe({ outcome }, durationMs / 1000);
      if (reason !== undefined) failures.inc({ kind: outcome === 'outage' ? 'outage' : failureKind });
      if (outcome !== 'done') return;
      transcripts.inc();
      bytes.inc(sizeBytes);
    },
    observeRows: (rowCount) => rows.inc(rowCount),
  };
}
