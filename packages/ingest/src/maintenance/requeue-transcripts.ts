import {
  type Actor,
  addAuditEntry,
  type Database,
  findTranscript,
  listTranscripts,
  readWorkspaceSettings,
  setTranscriptStatus,
  type TranscriptRow,
  type TranscriptStatus,
  waitForWriters,
} from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { PARSER_VERSION } from '../process/process-transcript.ts';
import type { IngestJob } from '../queue/index.ts';
import { toRowsVersion } from '../secrets/redaction.ts';

export interface RequeueAudit {
  actor: Actor;
  /**
   * Set for the first of several requeued transcripts, which share one audit entry: what they have in common. Default
   * `one`: only this transcript.
   */
  of?: 'one' | 'failed' | 'outdated';
}

/**
 * Requeues a transcript: sets its status and enqueues a new job, in one transaction. Its rows stay until the new ones
 * replace them. Returns false if there is no such transcript in one of the statuses `from`, or retention has deleted
 * its raw object. Without `audit`, nobody requested it and no audit entry is written.
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

/** The same within the caller's transaction. */
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

const PAGE_ROWS = 500;

/**
 * Requeues every transcript of a workspace whose rows were made by an older parser or with other redaction rules, or
 * whose raw object contains secrets that the workspace no longer wants there; yields their ids. First waits for running
 * ingestions, which may have started with the old settings.
 */
export async function* requeueOutdated(
  deps: Pick<IngestDependencies, 'database' | 'queue'>,
  workspaceId: string,
  actor: Actor = 'system',
): AsyncGenerator<string> {
  let audit: RequeueAudit | undefined = { actor, of: 'outdated' };
  const redaction = (await readWorkspaceSettings(deps.database.database, workspaceId))?.redaction ?? 'off';
  const version = toRowsVersion(PARSER_VERSION, redaction);
  await waitForWriters(deps.database.database);
  const isOutdated = (row: TranscriptRow): boolean => {
    if (row.status === 'ingested' && row.parser_version !== version) return true;
    if (redaction !== 'rows-and-raw' || row.stored_sha256 !== null) return false;
    // Unknown for superseded transcripts, which have no rows.
    return row.status === 'superseded' || Object.keys(row.secret_counts).length > 0;
  };
  const statuses = ['ingested', 'superseded'] as const;
  let afterId: string | undefined;
  for (;;) {
    const page = { afterId, limit: PAGE_ROWS };
    const rows = await listTranscripts(deps.database.database, workspaceId, { statuses }, page);
    for (const row of rows) {
      if (!isOutdated(row)) continue;
      if (!(await requeueTranscript(deps, { workspaceId, transcriptId: row.id }, statuses, audit))) continue;
      audit = undefined;
      yield row.id;
    }
    afterId = rows.at(-1)?.id;
    if (rows.length < PAGE_ROWS) return;
  }
}
