import { setTimeout as sleep } from 'node:timers/promises';
import {
  type DatabasePool,
  indexSearchBatch,
  listMergeableWorkspaces,
  listWorkspaces,
  mergeSegments,
  removeLostSegments,
} from '@recount/db';
import { toFailureReason } from '../failure-reason.ts';
import type { OutageGate } from '../process/outage-gate.ts';

export interface SearchIndexerDeps {
  database: DatabasePool;
  /** Transcripts are being ingested in this process, which go first. */
  isBusy: () => boolean;
  /**
   * Workspaces with something ingested by this process. Their segments are merged next, and they are removed from the
   * set. Defaults to none.
   */
  workspaces?: Set<string>;
  /** Defaults to none. */
  outages?: OutageGate;
  /** Why a step failed, without anything of the transcript. It is tried again later. */
  onFailure: (reason: string) => void;
}

export interface SearchIndexerOptions {
  /** Stops the indexer; a step in progress is rolled back. */
  signal: AbortSignal;
  /** Pause between looks at these workspaces; all are looked at ten times less often. Defaults to one second. */
  idleMs?: number;
  /** While transcripts are being ingested, the pause after a step is this many times its duration. Default 4. */
  busyRestFactor?: number;
}

const DEFAULT_IDLE_MS = 1000;
/** Work left by other processes may wait, because looking for it queries all nodes of a cluster. */
const IDLE_PERIODS_BETWEEN_ROUNDS = 10;
/** Looking for what lost segments left reads an index of all postings. */
const LOST_SEGMENTS_PERIOD_MS = 60 * 60 * 1000;
const FAILURE_PAUSE_MS = 1000;
const DEFAULT_BUSY_REST_FACTOR = 4;
/** The time until the end of ingestion is noticed. */
const REST_STEP_MS = 50;

/**
 * Looks after search until aborted: makes segments of the row sets that have none, merges small segments, makes those
 * again that have removed texts, and deletes what lost ones left. One short step at a time; during ingestion it uses at most a fifth of the time.
 * Any number of processes may run it. Never rejects.
 */
export async function runSearchIndexer(
  deps: SearchIndexerDeps,
  { signal, idleMs = DEFAULT_IDLE_MS, busyRestFactor = DEFAULT_BUSY_REST_FACTOR }: SearchIndexerOptions,
): Promise<void> {
  const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal }).catch(() => undefined);
  const restWhileBusy = async (ms: number): Promise<void> => {
    const endMs = performance.now() + ms;
    while (!signal.aborted && deps.isBusy() && performance.now() < endMs) await pause(REST_STEP_MS);
  };
  const workspaces = deps.workspaces ?? new Set<string>();
  let nextRoundAt = 0;
  let nextRemovalAt = 0;
  while (!signal.aborted) {
    await deps.outages?.pass(signal);
    const startedAt = performance.now();
    const looksEverywhere = startedAt >= nextRoundAt;
    let pauseMs = idleMs;
    try {
      if (await takeStep(deps.database, workspaces, { looksEverywhere, signal })) {
        pauseMs = 0;
        await restWhileBusy(busyRestFactor * (performance.now() - startedAt));
      } else if (startedAt >= nextRemovalAt) {
        nextRemovalAt = startedAt + LOST_SEGMENTS_PERIOD_MS;
        const { database } = deps.database;
        for (const { id } of await listWorkspaces(database)) await removeLostSegments(database, id);
      } else if (looksEverywhere) nextRoundAt = startedAt + IDLE_PERIODS_BETWEEN_ROUNDS * idleMs;
    } catch (error) {
      if (signal.aborted) return;
      deps.onFailure(toFailureReason(error));
      await deps.outages?.isShared(error);
      pauseMs = FAILURE_PAUSE_MS;
    }
    // Yields even without a pause, so that ingestion gets its turn.
    await pause(pauseMs);
  }
}

/** Returns false if there is nothing to do. */
async function takeStep(
  database: DatabasePool,
  workspaces: Set<string>,
  { looksEverywhere, signal }: { looksEverywhere: boolean; signal: AbortSignal },
): Promise<boolean> {
  if (looksEverywhere) {
    if ((await indexSearchBatch(database, { signal })) !== undefined) return true;
    for (const workspaceId of await listMergeableWorkspaces(database.database)) workspaces.add(workspaceId);
  }
  for (const workspaceId of [...workspaces]) {
    // Before the step, so that a workspace added during it stays.
    workspaces.delete(workspaceId);
    if (!(await mergeSegments(database, workspaceId, { signal }))) continue;
    workspaces.add(workspaceId);
    return true;
  }
  return false;
}

/** Makes segments of all row sets that wait for it and may be taken now; returns the number of their texts. */
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
