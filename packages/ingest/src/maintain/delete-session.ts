import { deleteSession as deleteSessionRows } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';

/**
 * Deletes a session's rows, then its raw objects. Returns false where there is no such session. A failure between the
 * two leaves objects without a row, which `recount doctor` finds.
 */
export async function deleteSession(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  workspaceId: string,
  sessionId: string,
): Promise<boolean> {
  const objectKeys = await deps.database.withTransaction((transaction) =>
    deleteSessionRows(transaction, workspaceId, sessionId),
  );
  for (const key of objectKeys) await deps.rawStore.delete(key);
  return objectKeys.length > 0;
}
