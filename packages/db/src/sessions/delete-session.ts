import type { Database } from '../database/database.ts';
import { and, eq, sql } from '../drizzle.cjs';
import { deleteTranscriptRows } from '../transcripts/delete-transcript-rows.ts';
import { transcripts } from '../transcripts/schema.ts';
import { lockSession } from './lock-session.ts';
import { settleSessions } from './settle-sessions.ts';

/**
 * Deletes a session with all of its transcripts and their rows. Returns the keys of the raw objects, which the caller
 * records as to be deleted; empty where the session does not exist. Fails with SQLSTATE 55P03 where the session is busy for 5 s.
 */
export async function deleteSession(transaction: Database, workspaceId: string, sessionId: string): Promise<string[]> {
  // The session may be under ingestion for minutes; waiting requests would use up the connections.
  await transaction.execute(sql`SET LOCAL lock_timeout = '5s'`);
  await lockSession(transaction, workspaceId, sessionId);
  const deleted = await transaction
    .delete(transcripts)
    .where(and(eq(transcripts.workspace_id, workspaceId), eq(transcripts.session_id, sessionId)))
    .returning({ row_set_id: transcripts.row_set_id, object_key: transcripts.object_key });
  const removedRowSetIds = deleted.flatMap(({ row_set_id }) => row_set_id ?? []);
  await deleteTranscriptRows(transaction, workspaceId, removedRowSetIds);
  await settleSessions(transaction, { workspaceId, sessionIds: [sessionId], written: [], removedRowSetIds });
  return deleted.map(({ object_key }) => object_key);
}
