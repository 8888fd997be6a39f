import {
  type Actor,
  addAuditEntry,
  type Database,
  findTranscript,
  setTranscriptStatus,
  type TranscriptStatus,
} from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import type { IngestJob } from '../queue/index.ts';

export interface RequeueAudit {
  actor: Actor;
  /** What the transcript is one of, where it is the first of many that are requeued: they have one entry. Default `one`: it alone. */
  of?: 'one' | 'failed' | 'outdated';
}

/**
 * Has a transcript ingested again: its status and a new job, in one transaction. Its rows stay until the new ones
 * replace them. Returns false where there is no such transcript in one of the statuses `from`, or retention has deleted
 * its raw object. Without `audit` nobody asked for it, and it is not noted who did.
 */
export async function requeueTranscript(
  deps: Pick<IngestDependencies, 'database' | 'queue'>,
  job: IngestJob,
  from: readonly TranscriptStatus[],
  audit?: RequeueAudit,
): Promise<boolean> {
  return await deps.database.withTransaction(async (transaction) => {
    if (!(await requeueWithin(transaction, deps.queue, job, from))) return false;
    if (audit !== undefined) {
      const { actor, of = 'one' } = audit;
      const subjects = of === 'one' ? [job.transcriptId] : [];
      const { workspaceId } = job;
      await addAuditEntry(transaction, { workspaceId, actor, action: 'transcript.requeue', subjects, details: { of } });
    }
    return true;
  });
}

/** The same as a part of the caller's transaction. */
export async function requeueWithin(
  transaction: Database,
  queue: IngestDependencies['queue'],
  job: IngestJob,
  from: readonly TranscriptStatus[],
): Promise<boolean> {
  const transcript = await findTranscript(transaction, job.workspaceId, job.transcriptId);
  if (transcript === undefined || transcript.raw_deleted_at !== null) return false;
  const change = { status: 'queued', attempt_count: 0, failure_reason: null } as const;
  const count = await setTranscriptStatus(transaction, job.workspaceId, [job.transcriptId], change, from);
  if (count > 0) await queue.enqueue(transaction, job);
  return count > 0;
}
