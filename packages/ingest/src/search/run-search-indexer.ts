import { setTimeout as sleep } from 'node:timers/promises';
import { type DatabasePool, indexSearchBatch, type SearchBatch } from '@recount/db';
import { toFailureReason } from '../process/failure-reason.ts';
import type { OutageGate } from '../process/outage-gate.ts';

export interface SearchIndexerDeps {
  database: DatabasePool;
  /** Transcripts are being ingested in this process, which go first. */
  isBusy: () => boolean;
  /**
   * Workspaces with something ingested by this process. They are checked next, and removed from the set. Defaults to
   * none.
   */
  workspaces?: Set<string>;
  onBatch?: (batch: SearchBatch & { durationMs: number }) => void;
  /** Defaults to none. */
  outages?: OutageGate;
  /** Why a batch failed, without anything of the transcript. The session is tried again later. */
  onFailure: (reason: string) => void;
}

export interface SearchIndexerOptions {
  /** Stops the indexer; a batch in progress is rolled back. */
  signal: AbortSignal;
  /**
   * Pause between checks for waiting sessions when there are none; all workspaces are checked ten times less often.
   * Defaults to one second.
   */
  idleMs?: number;
  /** While transcripts are being ingested, the pause after a batch is this many times its duration. Default 4. */
  busyRestFactor?: number;
}

const DEFAULT_IDLE_MS = 1000;
/**
 * Work left by other processes, e.g. after a crash, may wait, because looking for it queries all nodes of a cluster.
 */
const IDLE_PERIODS_BETWEEN_ROUNDS = 10;
const FAILURE_PAUSE_MS = 1000;
const DEFAULT_BUSY_REST_FACTOR = 4;
/** The time until the end of ingestion, or of the other loop's locks, is noticed. */
const REST_STEP_MS = 50;

/**
 * Indexes waiting sessions for search, a small batch at a time, until aborted. During ingestion it uses at most a fifth
 * of the time; otherwise it runs two batches concurrently, so that one makes documents while Postgres writes the
 * other's. Any number of processes may run it; batches take different sessions. Never rejects.
 */
export async function runSearchIndexer(deps: SearchIndexerDeps, options: SearchIndexerOptions): Promise<void> {
  const first: Loop = { worksBesideIngestion: true, hasWork: false };
  const second: Loop = { worksBesideIngestion: false, hasWork: false };
  await Promise.all([runLoop(deps, options, first, second), runLoop(deps, options, second, first)]);
}

interface Loop {
  readonly worksBesideIngestion: boolean;
  /** Its last batch had sessions, and it looks for the next one. */
  hasWork: boolean;
}

async function runLoop(
  deps: SearchIndexerDeps,
  options: SearchIndexerOptions,
  loop: Loop,
  other: Readonly<Loop>,
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
    if (!loop.worksBesideIngestion && deps.isBusy()) {
      loop.hasWork = false;
      await pause(REST_STEP_MS);
      continue;
    }
    const startedAt = performance.now();
    const looksEverywhere = startedAt >= nextRoundAt;
    let pauseMs = idleMs;
    try {
      const batch = await indexSearchBatch(deps.database, { signal, workspaces, looksEverywhere });
      loop.hasWork = batch !== undefined;
      // While the other one chooses sessions it has taken the workspace, or locked more sessions than fill its batch.
      if (batch === undefined && other.hasWork) pauseMs = REST_STEP_MS;
      if (batch === undefined && looksEverywhere) nextRoundAt = startedAt + IDLE_PERIODS_BETWEEN_ROUNDS * idleMs;
      const durationMs = performance.now() - startedAt;
      if (batch !== undefined) {
        deps.onBatch?.({ ...batch, durationMs });
        pauseMs = 0;
        await restWhileBusy(busyRestFactor * durationMs);
      }
    } catch (error) {
      loop.hasWork = false;
      if (signal.aborted) return;
      deps.onFailure(toFailureReason(error));
      await deps.outages?.isShared(error);
      pauseMs = FAILURE_PAUSE_MS;
    }
    // Yields even without a pause, so that ingestion gets its turn.
    await pause(pauseMs);
  }
}

/** Indexes everything that may be indexed now; returns the number of documents written. */
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
