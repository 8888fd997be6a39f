import { addPoolMetrics } from '@recount/service/telemetry/pool-metrics';
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { addBacklogGauges, type BacklogGaugeDependencies } from './backlog-gauges.ts';

export interface ApiMetrics {
  registry: Registry;
  observeRequest(labels: { method: string; route: string; status: number }, seconds: number): void;
  /** `outcome` is `accepted`, `duplicate`, `healed` or a problem's slug; `bytes` is the decoded size. */
  observeUpload(outcome: string, bytes: number): void;
}

const DURATION_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const SIZE_BUCKETS_BYTES = [1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/** Uses its own registry, so that several APIs can run in one process. */
export function createMetrics({
  database,
  log,
  now = Date.now,
}: Omit<BacklogGaugeDependencies, 'now'> & { now?: () => number }): ApiMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'recount_http_request_duration_seconds',
    help: 'HTTP requests by route and status; 499 if the client disconnected',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATION_BUCKETS_SECONDS,
    registers,
  });
  const uploads = new Counter({
    name: 'recount_uploads_total',
    help: 'Uploaded files by outcome',
    labelNames: ['outcome'],
    registers,
  });
  const uploadBytes = new Counter({
    name: 'recount_upload_bytes_total',
    help: 'Decoded bytes of uploaded files by outcome',
    labelNames: ['outcome'],
    registers,
  });
  const uploadSizes = new Histogram({
    name: 'recount_upload_size_bytes',
    help: 'Decoded bytes of each file that was accepted, or was stored already',
    buckets: SIZE_BUCKETS_BYTES,
    registers,
  });
  addPoolMetrics(registry, database.pool);
  addBacklogGauges(registry, { database, log, now });
  return {
    registry,
    observeRequest: ({ method, route, status }, seconds) =>
      requests.observe({ method, route, status: String(status) }, seconds),
    observeUpload(outcome, bytes) {
      uploads.inc({ outcome });
      uploadBytes.inc({ outcome }, bytes);
      if (outcome === 'accepted' || outcome === 'duplicate') uploadSizes.observe(bytes);
    },
  };
}
