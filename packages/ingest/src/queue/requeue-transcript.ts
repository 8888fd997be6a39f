import {
  type Actor,
  addAuditEntry,
  type Database,
  type DatabasePool,
  enqueueJobs,
  findTranscript,
  type IngestJob,
  releaseJobs,
  setTranscriptStatus,
  type TranscriptStatus,
} from '@recount/db';

interface RequeueDependencies {
  database: Pick<DatabasePool, 'withTransaction'>;
}

export interface RequeueAudit {
  actor: Actor;
  /**
   * Set for the first of several requeued transcripts, which share one audit entry: what they have in common. Default
   * `one`: only this transcript.
   */
  of?: 'one' | 'failed' | 'outdated';
}

/**
 * Requeues a transcript. It sets its status and enqueues a new job, in one transaction. Its rows stay until the new
 * ones replace them. Returns false if there is no such transcript in one of the statuses `from`, or retention has
 * deleted its raw object. Without `audit`, no one requested it and no audit entry is written.
 */
export async function requeueTranscript(
  deps: RequeueDependencies,
  job: IngestJob,
  from: readonly TranscriptStatus[],
  audit?: RequeueAudit,
): Promise<boolean> {
  return await deps.database.withTransaction(async (transaction) => {
    if (!(await requeueWithin(transaction, job, from))) return false;
    if (audit !== undefined) {
      const { actor, of = 'one' } = audit;
      const subjects = of === 'one' ? [job.transcriptId] : [];
      const { workspaceId } = job;
      await addAuditEntry(transaction, { workspaceId, actor, action: 'transcript.requeue', subjects, details: { of } });
    }
    return true;
  });
}

/** The same within the caller's transaction. */
export async function requeueWithin(
  transaction: Database,
  { workspaceId, transcriptId }: IngestJob,
  from: readonly TranscriptStatus[],
): Promise<boolean> {
  const transcript = await findTranscript(transaction, workspaceId, transcriptId);
  if (transcript === undefined || transcript.raw_deleted_at !== null) return false;
  const change = { status: 'queued', attempt_count: 0, failure_reason: null } as const;
  const count = await setTranscriptStatus(transaction, workspaceId, [transcriptId], change, from);
  if (count === 0) return false;
  // Ends the pause of a job that it may have.
  await releaseJobs(transaction, workspaceId, [transcriptId], { isAlone: true });
  await enqueueJobs(transaction, workspaceId, [{ transcriptId, sizeBytes: transcript.size_bytes, isAlone: true }]);
  return true;
}
