import type { GroupedOutcome, IngestJob } from '@recount/queue';
import { toFailureReason } from './failure-reason.ts';
import type { HandleDeps } from './handle-job.ts';
import { processGroup } from './process-group.ts';
import type { ProcessOptions } from './process-transcript.ts';

/**
 * Ingests the transcripts of many jobs at once. Does not throw: where one of them fails, the others are not to suffer from
 * it, and all are left to be done alone, as are those that `processGroup` leaves. No attempt is counted before that.
 */
export async function handleGroup(
  deps: HandleDeps,
  jobs: readonly IngestJob[],
  options: ProcessOptions,
): Promise<GroupedOutcome[]> {
  const outcomes = new Map<IngestJob, GroupedOutcome>();
  for (const [workspaceId, group] of Map.groupBy(jobs, (job) => job.workspaceId)) {
    for (const [job, outcome] of await handleWorkspace(deps, workspaceId, group, options)) outcomes.set(job, outcome);
  }
  return jobs.map((job) => outcomes.get(job) ?? 'alone');
}

async function handleWorkspace(
  deps: HandleDeps,
  workspaceId: string,
  jobs: readonly IngestJob[],
  options: ProcessOptions,
): Promise<Map<IngestJob, GroupedOutcome>> {
  const startedAt = performance.now();
  const isAborted = (): boolean => options.signal?.aborted ?? false;
  let reason: string | undefined;
  const ids = jobs.map(({ transcriptId }) => transcriptId);
  const rows = isAborted()
    ? []
    : await processGroup(deps, workspaceId, ids, options).catch((error: unknown) => {
        if (!isAborted()) reason = toFailureReason(error);
        return [];
      });
  const rowsById = new Map(rows.map((row) => [row.id, row]));
  const others = isAborted() ? 'handed-back' : 'alone';
  const durationMs = Math.round(performance.now() - startedAt);
  return new Map(
    jobs.map((job) => {
      const row = rowsById.get(job.transcriptId);
      const outcome = row === undefined ? others : 'done';
      const details =
        row === undefined ? reason !== undefined && { reason } : { sizeBytes: row.size_bytes, attempt: 1 };
      deps.onReport({ ...job, outcome, durationMs, ...details });
      return [job, outcome];
    }),
  );
}
