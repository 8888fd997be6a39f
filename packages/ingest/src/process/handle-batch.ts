import { type IngestJob, releaseJobs } from '@recount/db';
import { toFailureKind, toFailureReason } from '../failure-reason.ts';
import { persist } from '../queue/persist.ts';
import { holdingJobs, JobNotHeldError } from './hold-jobs.ts';
import { ingestBatch } from './ingest-batch.ts';
import type { HandleDeps } from './job-report.ts';
import type { ProcessOptions } from './process-options.ts';

/** The outcome of a job in a batch: done, to be handled alone, or handed back to be taken in a batch again. */
export type BatchOutcome = 'done' | 'alone' | 'handed-back';

/**
 * Ingests the transcripts of a workspace's jobs, which this worker has taken together, in one transaction. Does not
 * throw. If one of them fails, all are left to be done alone, so that the others do not suffer, as are those that are
 * not plain. No attempt is counted before that. If a shared resource is exhausted or the worker stops, they are handed
 * back. Returns an outcome for each job, in order.
 */
export async function handleBatch(
  deps: HandleDeps,
  jobs: readonly IngestJob[],
  options: ProcessOptions,
): Promise<BatchOutcome[]> {
  const workspaceId = jobs[0]?.workspaceId ?? '';
  const transcriptIds = jobs.map(({ transcriptId }) => transcriptId);
  const startedAt = performance.now();
  const isStopping = (): boolean => options.signal?.aborted ?? false;
  let failure: { reason: string; failureKind: string } | undefined;
  let isShared = false;
  const database = holdingJobs(deps.database, { workspaceId, transcriptIds });
  const rows = isStopping()
    ? []
    : await ingestBatch({ ...deps, database }, workspaceId, transcriptIds, options).catch(async (error: unknown) => {
        if (isStopping() || error instanceof JobNotHeldError) return [];
        failure = { reason: toFailureReason(error), failureKind: toFailureKind(error) };
        isShared = (await deps.outages?.isShared(error)) ?? false;
        return [];
      });
  const isHandedBack = isStopping() || isShared;
  if (isHandedBack || failure !== undefined) {
    const ids = rows.length === 0 ? transcriptIds : [];
    const release = () => releaseJobs(deps.database.database, workspaceId, ids, { isAlone: !isHandedBack });
    // Without it they are done alone in a moment.
    await persist(release, isStopping).catch(() => undefined);
  }
  const rowsById = new Map(rows.map(({ transcript }) => [transcript.id, transcript]));
  const durationMs = Math.round(performance.now() - startedAt);
  return jobs.map((job) => {
    const row = rowsById.get(job.transcriptId);
    const outcome = row !== undefined ? 'done' : isHandedBack ? 'handed-back' : 'alone';
    const details = row === undefined ? failure : { sizeBytes: row.size_bytes, attempt: 1 };
    deps.onReport({ ...job, outcome: isShared ? 'outage' : outcome, durationMs, ...details });
    return outcome;
  });
}
