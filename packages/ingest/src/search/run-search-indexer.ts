import { setTimeout as sleep } from 'node:timers/promises';
import { type DatabasePool, indexSearchBatch, type SearchBatch } from '@recount/db';
import { toFailureReason } from '../process/failure-reason.ts';
import type { OutageGate } from '../process/outage-gate.ts';

export interface SearchIndexerDeps {
  database: DatabasePool;
  /** Transcripts are being ingested in this process: they go first. */
  isBusy: () => boolean;
  /** Workspaces of which this process has ingested something: they are looked at next, and taken out. Default: none. */
  workspaces?: Set<string>;
  onBatch?: (batch: SearchBatch & { durationMs: number }) => void;
  /** Default: none. */
  outages?: OutageGate;
  /** Why a batch failed, without anything of the transcript. The session is tried again later. */
  onFailure: (reason: string) => void;
}

export interface SearchIndexerOptions {
  /** Ends the indexer; a batch under way is undone. */
  signal: AbortSignal;
  /** Between looks for sessions that wait, while none does; between looks through all workspaces ten times that. Default one second. */
  idleMs?: number;
  /** While transcripts are ingested, this many times as long as a batch took goes by before the next. Default 4. */
  busyRestFactor?: number;
}

const DEFAULT_IDLE_MS = 1000;
/** What other processes have left, as after a crash, may wait: to look for it asks all nodes of a cluster. */
const IDLE_PERIODS_BETWEEN_ROUNDS = 10;
const FAILURE_PAUSE_MS = 1000;
const DEFAULT_BUSY_REST_FACTOR = 4;
/** So long after the last of them, the next batch begins. */
const REST_STEP_MS = 50;

/**
 * Indexes for search what waits, a small batch at a time, until it is told to end: beside ingestion, in at most a fifth
 * of the time; else two batches at once, so that one is made into documents while Postgres takes those of the other. Any
 * number of processes may run one; each batch takes other sessions. Never rejects.
 */
export async function runSearchIndexer(deps: SearchIndexerDeps, options: SearchIndexerOptions): Promise<void> {
  await Promise.all([
    runLoop(deps, options, { worksBesideIngestion: true }),
    runLoop(deps, options, { worksBesideIngestion: false }),
  ]);
}

async function runLoop(
  deps: SearchIndexerDeps,
  options: SearchIndexerOptions,
  { worksBesideIngestion }: { worksBesideIngestion: boolean },
): Promise<void> {
  const { signal, idleMs = DEFAULT_IDLE_MS, busyRestFactor = DEFAULT_BUSY_REST_FACTOR } = options;
  const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal }).catch(() => undefined);
  const restWhileBusy = async (ms: number): Promise<void> => {
    const endMs = performance.now() + ms;
    while (!signal.aborted && deps.isBusy() && performance.now() < endMs) await pause(REST_STEP_MS);
  };
  const workspaces = deps.workspaces ?? new Set<string>();
  let nextRoundAt = 0;
  while (!signal.aborted) {
    await deps.outages?.pass(signal);
    if (!worksBesideIngestion && deps.isBusy()) {
      await pause(REST_STEP_MS);
      continue;
    }
    const startedAt = performance.now();
    const looksEverywhere = startedAt >= nextRoundAt;
    let pauseMs = idleMs;
    try {
      const batch = await indexSearchBatch(deps.database, { signal, workspaces, looksEverywhere });
      if (batch === undefined && looksEverywhere) nextRoundAt = startedAt + IDLE_PERIODS_BETWEEN_ROUNDS * idleMs;
      const durationMs = performance.now() - startedAt;
      if (batch !== undefined) {
        deps.onBatch?.({ ...batch, durationMs });
        pauseMs = 0;
        await restWhileBusy(busyRestFactor * durationMs);
      }
    } catch (error) {
      if (signal.aborted) return;
      deps.onFailure(toFailureReason(error));
      await deps.outages?.isShared(error);
      pauseMs = FAILURE_PAUSE_MS;
    }
    // Also without a pause: ingestion gets its turn.
    await pause(pauseMs);
  }
}

/** Indexes everything that may be indexed now; returns how many documents were written. */
export async function indexWaitingSessions(
  database: DatabasePool,
  options: { signal?: AbortSignal } = {},
): Promise<number> {
  let documents = 0;
  for (;;) {
    const batch = await indexSearchBatch(database, options);
    if (batch === undefined) return documents;
    documents += batch.documents;
  }
}
