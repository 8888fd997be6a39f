import { countTranscriptsByStatus, TRANSCRIPT_STATUSES } from '@recount/db';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ApiDependencies } from '../api-dependencies.ts';
import { toLogReason } from '../problems/log-reason.ts';

export interface ApiMetrics {
  registry: Registry;
  observeRequest(labels: { method: string; route: string; status: number }, seconds: number): void;
  /** `outcome` is `accepted`, `duplicate` or a problem's slug; `bytes` are decoded ones. */
  observeUpload(outcome: string, bytes: number): void;
}

const DURATION_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** The count reads an index of all transcripts: not for every scrape. */
const COUNT_INTERVAL_MS = 10_000;

/** A registry of its own, so that several APIs may live in one process. */
export function createMetrics({
  database,
  log,
  now = Date.now,
}: Omit<ApiDependencies, 'rawStore' | 'queue'>): ApiMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'recount_http_request_duration_seconds',
    help: 'HTTP requests by route and status; 499 where the client went away',
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
  addPoolMetrics(registry, database.pool);
  addTranscriptCounts(registry, { database, log, now });
  return {
    registry,
    observeRequest: ({ method, route, status }, seconds) =>
      requests.observe({ method, route, status: String(status) }, seconds),
    observeUpload(outcome, bytes) {
      uploads.inc({ outcome });
      uploadBytes.inc({ outcome }, bytes);
    },
  };
}

function addPoolMetrics(registry: Registry, pool: ApiDependencies['database']['pool']): void {
  new Gauge({
    name: 'recount_database_connections',
    help: 'Connections to Postgres by state, and requests that wait for one',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'used' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'waiting' }, pool.waitingCount);
    },
  });
}

function addTranscriptCounts(
  registry: Registry,
  { database, log, now }: Required<Pick<ApiDependencies, 'database' | 'log' | 'now'>>,
): void {
  let countedAtMs = Number.NEGATIVE_INFINITY;
  new Gauge({
    name: 'recount_transcripts',
    help: 'Transcripts of all workspaces by status; missing where the database is away',
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      if (now() - countedAtMs < COUNT_INTERVAL_MS) return;
      countedAtMs = now();
      try {
        const counts = await countTranscriptsByStatus(database.database);
        for (const status of TRANSCRIPT_STATUSES) this.set({ status }, counts[status]);
      } catch (error) {
        this.reset();
        log.warn({ reason: toLogReason(error) }, 'transcripts not counted');
      }
    },
  });
}
