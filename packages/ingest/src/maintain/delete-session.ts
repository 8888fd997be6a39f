import { deleteLiveSession, deleteSession as deleteSessionRows, listTranscripts } from '@recount/db';
import { deleteJobs } from '@recount/queue';
import type { IngestDependencies } from '../ingest-dependencies.ts';

/** Whose jobs are deleted at once; those of others, which hold ids alone, the queue deletes in time. */
const MAX_TRANSCRIPTS = 10_000;

/**
 * Deletes a session's raw objects, rows and jobs, those of its streams included. Returns false where there is no such session.
 * The rows go last, so that a failure in between leaves nothing that could not be deleted by trying again. Fails where
 * the session is busy.
 */
export async function deleteSession(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  workspaceId: string,
  sessionId: string,
): Promise<boolean> {
  return await deps.database.withTransaction(async (transaction) => {
    const transcripts = await listTranscripts(transaction, workspaceId, { sessionId }, { limit: MAX_TRANSCRIPTS });
    const objectKeys = await deleteSessionRows(transaction, workspaceId, sessionId);
    const streamKeys = await deleteLiveSession(transaction, { workspaceId, sessionId });
    await deleteJobs(transaction, { workspaceId, transcriptIds: transcripts.map(({ id }) => id) });
    for (const key of [...objectKeys, ...(streamKeys ?? [])]) await deps.rawStore.delete(key);
    return objectKeys.length > 0 || streamKeys !== undefined;
  });
}
