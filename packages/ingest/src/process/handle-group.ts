import type { GroupedOutcome, IngestJob } from '../queue/index.ts';
import { toFailureReason } from './failure-reason.ts';
import type { HandleDeps } from './handle-job.ts';
import { processGroup } from './process-group.ts';
import type { ProcessOptions } from './process-transcript.ts';

/**
 * Ingests the transcripts of many jobs at once. Does not throw: where one of them fails, the others are not to suffer from
 * it, and all are left to be done alone, as are those that `processGroup` leaves. No attempt is counted before that.
 * Where a resource is used up for everybody, they are handed back instead.
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
  await deps.outages?.pass(options.signal);
  const startedAt = performance.now();
  const isAborted = (): boolean => options.signal?.aborted ?? false;
  let reason: string | undefined;
  let isShared = false;
  const ids = jobs.map(({ transcriptId }) => transcriptId);
  const rows = isAborted()
    ? []
    : await processGroup(deps, workspaceId, ids, options).catch(async (error: unknown) => {
        if (isAborted()) return [];
        reason = toFailureReason(error);
        isShared = (await deps.outages?.isShared(error)) ?? false;
        return [];
      });
  const rowsById = new Map(rows.map((row) => [row.id, row]));
  // Nobody's fault: they are a group again when the resource is back.
  const others = isAborted() || isShared ? 'handed-back' : 'alone';
  const durationMs = Math.round(performance.now() - startedAt);
  return new Map(
    jobs.map((job) => {
      const row = rowsById.get(job.transcriptId);
      const outcome = row === undefined ? others : 'done';
      const details =
        row === undefined ? reason !== undefined && { reason } : { sizeBytes: row.size_bytes, attempt: 1 };
      deps.onReport({ ...job, outcome: isShared ? 'outage' : outcome, durationMs, ...details });
      return [job, outcome];
    }),
  );
}
