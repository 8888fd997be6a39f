import { TRANSCRIPT_STATUSES } from '@recount/contract/choices';
import { countTranscriptsByStatus, countWaitingBlocks, readBacklog, readSearchBacklog } from '@recount/db';
import type { IngestDependencies } from '@recount/ingest';
import type { Logger } from 'pino';
import { Gauge, type Registry } from 'prom-client';
import { toLogReason } from '../problems/problem-error.ts';

export interface BacklogGaugeDependencies extends Pick<IngestDependencies, 'database'> {
  log: Logger;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Scrapes within this interval get the last answer. */
const MIN_INTERVAL_MS = 10_000;
/** A slow query is followed by a long pause. Scraping uses at most this share of one connection's time. */
const MAX_SHARE = 0.01;

/** Gauges read from the database, over all workspaces; they have no value while it is unavailable. */
export function addBacklogGauges(registry: Registry, deps: BacklogGaugeDependencies): void {
  const registers = [registry];
  const { database } = deps.database;
  const readCounts = createSampler(deps, () => countTranscriptsByStatus(database));
  const readQueue = createSampler(deps, () => readBacklog(database));
  new Gauge({
    name: 'recount_transcripts',
    help: 'Transcripts of all workspaces by status; missing while the database is unavailable',
    labelNames: ['status'],
    registers,
    async collect() {
      this.reset();
      const counts = await readCounts();
      for (const status of counts === undefined ? [] : TRANSCRIPT_STATUSES) this.set({ status }, counts?.[status] ?? 0);
    },
  });
  new Gauge({
    name: 'recount_queue_jobs',
    help: 'Jobs that no worker has, including those that pause between attempts',
    labelNames: ['state'],
    registers,
    async collect() {
      this.reset();
      const backlog = await readQueue();
      if (backlog === undefined) return;
      this.set({ state: 'waiting' }, backlog.waitingCount);
    },
  });
  new Gauge({
    name: 'recount_queue_oldest_job_age_seconds',
    help: 'Since the oldest waiting job was enqueued; 0 if there is none',
    labelNames: [],
    registers,
    async collect() {
      this.remove();
      const backlog = await readQueue();
      if (backlog !== undefined) this.set(backlog.oldestAgeMs / 1000);
    },
  });
  addSearchGauges(registry, deps);
}

function addSearchGauges(registry: Registry, deps: BacklogGaugeDependencies): void {
  const registers = [registry];
  const { database } = deps.database;
  const readSearch = createSampler(deps, async () => ({
    ...(await readSearchBacklog(database)),
    blocks: await countWaitingBlocks(database),
  }));
  new Gauge({
    name: 'recount_search_sessions',
    help: 'Sessions that search does not find yet, or only in part; failing counts sessions whose last attempt failed',
    labelNames: ['state'],
    registers,
    async collect() {
      this.reset();
      const backlog = await readSearch();
      if (backlog === undefined) return;
      this.set({ state: 'waiting' }, backlog.waitingSessions);
      this.set({ state: 'failing' }, backlog.failingSessions);
    },
  });
  new Gauge({
    name: 'recount_search_waiting_blocks',
    help: 'Content blocks of these sessions, an upper bound of the documents still to be indexed',
    labelNames: [],
    registers,
    async collect() {
      this.remove();
      const backlog = await readSearch();
      if (backlog !== undefined) this.set(backlog.blocks);
    },
  });
  new Gauge({
    name: 'recount_search_oldest_wait_seconds',
    help: 'How long the first of these sessions has been waiting; 0 if there is none',
    labelNames: [],
    registers,
    async collect() {
      this.remove();
      const backlog = await readSearch();
      if (backlog === undefined) return;
      const { oldestWaitingSince: since } = backlog;
      this.set(since === null ? 0 : Math.max(0, deps.now() - Date.parse(since)) / 1000);
    },
  });
}

/**
 * Calls at limited intervals of a monotonic clock, and never twice concurrently. Undefined if the last query failed,
 * which is logged.
 */
function createSampler<T>(
  { log }: Pick<BacklogGaugeDependencies, 'log'>,
  read: () => Promise<T>,
): () => Promise<T | undefined> {
  let nextMs = Number.NEGATIVE_INFINITY;
  let latest: Promise<T | undefined> = Promise.resolve(undefined);
  const sample = async (): Promise<T | undefined> => {
    const startedAtMs = performance.now();
    try {
      return await read();
    } catch (error) {
      log.warn({ reason: toLogReason(error) }, 'gauges not read');
      return undefined;
    } finally {
      nextMs = performance.now() + Math.max(MIN_INTERVAL_MS, (performance.now() - startedAtMs) / MAX_SHARE);
    }
  };
  return () => {
    if (performance.now() < nextMs) return latest;
    nextMs = Number.POSITIVE_INFINITY;
    latest = sample();
    return latest;
  };
}
