import { deleteSession as deleteSessionRows } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';

/**
 * Deletes a session's raw objects and rows. Returns false where there is no such session. The rows go last, so that a
 * failure in between leaves nothing that could not be deleted by trying again. Fails where the session is busy.
 */
export async function deleteSession(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  workspaceId: string,
  sessionId: string,
): Promise<boolean> {
  return await deps.database.withTransaction(async (transaction) => {
    const objectKeys = await deleteSessionRows(transaction, workspaceId, sessionId);
    for (const key of objectKeys) await deps.rawStore.delete(key);
    return objectKeys.length > 0;
  });
}
