import { findTranscript, setTranscriptStatus, type TranscriptStatus } from '@recount/db';
import type { IngestJob } from '@recount/queue';
import type { IngestDependencies } from '../ingest-dependencies.ts';

/**
 * Has a transcript ingested again: its status and a new job, in one transaction. Its rows stay until the new ones
 * replace them. Returns false where there is no such transcript in one of the statuses `from`, or retention has deleted
 * its raw object.
 */
export async function requeueTranscript(
  deps: Pick<IngestDependencies, 'database' | 'queue'>,
  job: IngestJob,
  from: readonly TranscriptStatus[],
): Promise<boolean> {
  return await deps.database.withTransaction(async (transaction) => {
    const transcript = await findTranscript(transaction, job.workspaceId, job.transcriptId);
    if (transcript === undefined || transcript.raw_deleted_at !== null) return false;
    const change = { status: 'queued', attempt_count: 0, failure_reason: null } as const;
    const count = await setTranscriptStatus(transaction, job.workspaceId, [job.transcriptId], change, from);
    if (count > 0) await deps.queue.enqueue(transaction, job);
    return count > 0;
  });
}
