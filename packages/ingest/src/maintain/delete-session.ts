import {
  type Actor,
  addAuditEntry,
  deleteLiveSession,
  deleteSession as deleteSessionRows,
  listTranscripts,
  recordRawObjectDeletions,
} from '@recount/db';
import { streamObjectKey } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { deleteJobs } from '../queue/index.ts';
import { deleteRecordedObjects } from '../raw-objects/delete-raw-objects.ts';

/** Whose jobs are deleted at once; those of others, which hold ids alone, the queue deletes in time. */
const MAX_TRANSCRIPTS = 10_000;

/**
 * Deletes a session's rows and jobs, those of its streams included, and then its raw objects. Returns false where there is no
 * such session. The objects go once the transaction has ended, in which they were recorded as to be deleted: a crash or an
 * outage of the store in between leaves them to `finishDeletions`. Fails where the session is busy.
 */
export async function deleteSession(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  workspaceId: string,
  sessionId: string,
  actor: Actor = 'system',
): Promise<boolean> {
  const deleted = await deps.database.withTransaction(async (transaction) => {
    const transcripts = await listTranscripts(transaction, workspaceId, { sessionId }, { limit: MAX_TRANSCRIPTS });
    const transcriptKeys = await deleteSessionRows(transaction, workspaceId, sessionId);
    const streams = await deleteLiveSession(transaction, { workspaceId, sessionId });
    await deleteJobs(transaction, { workspaceId, transcriptIds: transcripts.map(({ id }) => id) });
    if (transcriptKeys.length === 0 && streams === undefined) return undefined;
    const details = { transcripts: transcriptKeys.length };
    await addAuditEntry(transaction, { workspaceId, actor, action: 'session.delete', subjects: [sessionId], details });
    const objectKeys = [...transcriptKeys, ...(streams?.objectKeys ?? [])];
    // Of streams that are being stored just now: whoever does so may be killed before it sees that nobody wants them.
    const comingKeys = (streams?.closingIds ?? []).map((streamId) => streamObjectKey({ workspaceId, streamId }));
    await recordRawObjectDeletions(transaction, workspaceId, [...objectKeys, ...comingKeys]);
    return objectKeys;
  });
  if (deleted !== undefined) await deleteRecordedObjects(deps, workspaceId, deleted);
  return deleted !== undefined;
}
