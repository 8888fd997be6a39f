import {
  type Actor,
  addAuditEntry,
  deleteOrphanedUsage,
  listTranscripts,
  lockSession,
  lockWorkspaceShared,
  settleSessions,
  toNewRowSet,
} from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';

const PAGE_ROWS = 500;

/**
 * Rebuilds the usage ledger, sessions and roll-ups from the rows of the transcripts, each session in its own
 * transaction; yields the sessions. Ends early if the workspace is deleted.
 */
export async function* rebuildUsage(
  { database }: Pick<IngestDependencies, 'database'>,
  workspaceId: string,
  actor: Actor = 'system',
): AsyncGenerator<string> {
  await database.withTransaction(async (transaction) => {
    if ((await lockWorkspaceShared(transaction, workspaceId)) === undefined) return;
    await deleteOrphanedUsage(transaction, workspaceId);
    await addAuditEntry(transaction, { workspaceId, actor, action: 'usage.rebuild', subjects: [] });
  });
  let afterId: string | undefined;
  for (;;) {
    const page = { afterId, limit: PAGE_ROWS };
    const transcripts = await listTranscripts(database.database, workspaceId, { hasRows: true }, page);
    for (const { row_set_id: rowSetId, session_id: sessionId } of transcripts) {
      if (rowSetId === null) continue;
      const isThere = await database.withTransaction(async (transaction) => {
        if ((await lockWorkspaceShared(transaction, workspaceId)) === undefined) return false;
        await lockSession(transaction, workspaceId, sessionId);
        const written = [toNewRowSet({ workspaceId, rowSetId })];
        await settleSessions(transaction, { workspaceId, sessionIds: [sessionId], written, removedRowSetIds: [] });
        return true;
      });
      if (!isThere) return;
      yield sessionId;
    }
    afterId = transcripts.at(-1)?.id;
    if (transcripts.length < PAGE_ROWS) return;
  }
}
