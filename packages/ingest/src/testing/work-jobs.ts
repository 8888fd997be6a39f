import { type DatabasePool, type IngestJob, sql } from '@recount/db';
import { handleJob } from '../process/handle-job.ts';
import type { HandleDeps } from '../process/job-report.ts';
import type { ProcessOptions } from '../process/process-options.ts';

/** Jobs of all workspaces, in the order of the queue. */
export async function listJobs({ database }: DatabasePool): Promise<IngestJob[]> {
  const { rows } = await database.execute<{ workspace_id: string; transcript_id: string }>(
    sql`SELECT workspace_id, transcript_id FROM recount.ingest_jobs ORDER BY priority DESC, created_at, transcript_id`,
  );
  return rows.map((row) => ({ workspaceId: row.workspace_id, transcriptId: row.transcript_id }));
}

/** Handles each job that there is, alone, until none is left. Throws if one fails. */
export async function workJobs(deps: Omit<HandleDeps, 'onReport'>, options: ProcessOptions): Promise<void> {
  for (let [job] = await listJobs(deps.database); job !== undefined; [job] = await listJobs(deps.database)) {
    const outcome = await handleJob({ ...deps, onReport: () => undefined }, job, options);
    if (outcome.status !== 'done') throw new Error('reason' in outcome ? outcome.reason : outcome.status);
  }
}

/** Ends the pauses between attempts. Locks no other jobs, which a worker may be about to hold. */
export async function endPauses({ database }: DatabasePool): Promise<void> {
  await database.execute(sql`
    WITH free AS MATERIALIZED (
      SELECT workspace_id, transcript_id FROM recount.ingest_jobs WHERE not_before IS NOT NULL FOR UPDATE SKIP LOCKED)
    UPDATE recount.ingest_jobs AS j SET not_before = NULL FROM free AS f
    WHERE j.workspace_id = f.workspace_id AND j.transcript_id = f.transcript_id`);
}
