import { setTimeout as sleep } from 'node:timers/promises';
import { listRetainingWorkspaces, withAdvisoryLock } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { toFailureReason } from '../process/failure-reason.ts';
import { finishDeletions } from '../raw-objects/delete-raw-objects.ts';
import { type RetentionResult, retainWorkspace } from './retain-workspace.ts';

export interface RetentionReport extends RetentionResult {
  workspaceId: string;
}

export interface RetentionDeps extends Pick<IngestDependencies, 'database' | 'rawStore'> {
  /** Of every workspace in which something was deleted, or was busy. */
  onReport: (report: RetentionReport) => void;
  /** Why a run, or a workspace of it, failed. The next run tries again. */
  onFailure: (reason: string) => void;
  /** Milliseconds since 1970. Default Date.now. */
  now?: () => number;
}

/** Any constant will do, as long as nobody else in the database uses it. */
const RETENTION_LOCK = 7_262_892;
const DEFAULT_INTERVAL_MS = 60 * 60 * 1000;
/** Whoever recorded a deletion later may be about it yet. */
const MIN_DELETION_AGE_MS = 10 * 60 * 1000;

/**
 * Deletes by age in all workspaces that want it, and raw objects whose deletion was cut short, now and every hour, until it is told to end. Any number of processes may
 * run one: a run of one passes by while another's lasts. Never rejects.
 */
export async function runRetention(
  deps: RetentionDeps,
  { signal, intervalMs = DEFAULT_INTERVAL_MS }: { signal: AbortSignal; intervalMs?: number },
): Promise<void> {
  while (!signal.aborted) {
    try {
      await withAdvisoryLock(deps.database, RETENTION_LOCK, () => retainAll(deps, signal));
    } catch (error) {
      if (!signal.aborted) deps.onFailure(toFailureReason(error));
    }
    await sleep(intervalMs, undefined, { signal }).catch(() => undefined);
  }
}

async function retainAll(deps: RetentionDeps, signal: AbortSignal): Promise<void> {
  const nowMs = (deps.now ?? Date.now)();
  try {
    const recordedBefore = new Date(nowMs - MIN_DELETION_AGE_MS).toISOString();
    for await (const _deletion of finishDeletions(deps, recordedBefore, signal));
  } catch (error) {
    signal.throwIfAborted();
    deps.onFailure(toFailureReason(error));
  }
  for (const { id: workspaceId, settings } of await listRetainingWorkspaces(deps.database.database)) {
    try {
      const result = await retainWorkspace(deps, { workspaceId, settings, nowMs, signal });
      if (result.sessions + result.rawObjects + result.busy > 0) deps.onReport({ workspaceId, ...result });
    } catch (error) {
      signal.throwIfAborted();
      deps.onFailure(toFailureReason(error));
    }
  }
}
