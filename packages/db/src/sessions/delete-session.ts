import type { Database } from '../database/database.ts';
import { lockSession } from '../database/lock-sessions.ts';
import { and, eq, inArray, isNotNull, sql } from '../drizzle.cjs';
import { deleteDismissalReasons, deleteLostDismissals } from '../findings/finding-decisions.ts';
import { contentBlocks, ingestIssues, transcriptMessages } from '../schema/messages.ts';
import { sessions, transcriptCheckpoints, transcripts } from '../schema/transcripts.ts';
import { deleteShares } from '../shares/shares.ts';
import { deleteTelemetry } from '../telemetry/telemetry-records.ts';
import { deleteTranscriptRows, removeFromSearch } from '../transcripts/delete-rows.ts';
import { isExpiredSession } from '../transcripts/list-expired.ts';
import { deleteAnnotationTexts, deleteLostAnnotation } from './session-annotations.ts';
import { settleSessions } from './settle-sessions.ts';

/**
 * Deletes a session with all its transcripts and their rows. Returns the keys of the raw objects, which the caller
 * records for deletion; empty if the session does not exist. Fails with SQLSTATE 55P03 if the session is busy for 5 s.
 */
export async function deleteSession(transaction: Database, workspaceId: string, sessionId: string): Promise<string[]> {
  // The session may be under ingestion for minutes; waiting requests would use up the connections.
  await transaction.execute(sql`SET LOCAL lock_timeout = '5s'`);
  await lockSession(transaction, workspaceId, sessionId);
  const deleted = await transaction
    .delete(transcripts)
    .where(and(eq(transcripts.workspace_id, workspaceId), eq(transcripts.session_id, sessionId)))
    .returning({ row_set_id: transcripts.row_set_id, object_key: transcripts.object_key });
  await deleteShares(transaction, workspaceId, sessionId);
  const removedRowSetIds = deleted.flatMap(({ row_set_id }) => row_set_id ?? []);
  await deleteTranscriptRows(transaction, workspaceId, removedRowSetIds);
  await settleSessions(transaction, { workspaceId, sessionIds: [sessionId], written: [], removedRowSetIds });
  await deleteLostAnnotation(transaction, workspaceId, sessionId);
  await deleteTelemetry(transaction, workspaceId, sessionId);
  await deleteLostDismissals(transaction, workspaceId, sessionId);
  return deleted.map(({ object_key }) => object_key);
}

/**
 * Deletes the texts of a session whose last activity is before that time (messages, content blocks, what search knows of
 * them, issues, its title and first prompt, the name and note that people gave it, links to it). Its figures, usage, tool
 * calls and events remain, so that no past total changes. Returns false if there is nothing to delete (any more). Fails
 * with SQLSTATE 55P03 if the session is busy for 5 s.
 */
export async function deleteSessionTexts(
  transaction: Database,
  { workspaceId, sessionId }: { workspaceId: string; sessionId: string },
  before: string,
): Promise<boolean> {
  await transaction.execute(sql`SET LOCAL lock_timeout = '5s'`);
  await lockSession(transaction, workspaceId, sessionId);
  const { rows } = await transaction.execute(sql`
    SELECT FROM ${sessions} AS s
    WHERE s.workspace_id = ${workspaceId} AND s.session_id = ${sessionId} AND ${isExpiredSession(before)}
    FOR NO KEY UPDATE`);
  if (rows.length === 0) return false;
  const marked = await transaction
    .update(transcripts)
    .set({ rows_deleted_at: sql`now()`, initial_prompt: null, title: null })
    .where(
      and(
        eq(transcripts.workspace_id, workspaceId),
        eq(transcripts.session_id, sessionId),
        isNotNull(transcripts.ingested_at),
      ),
    )
    .returning({ row_set_id: transcripts.row_set_id });
  const rowSetIds = marked.flatMap(({ row_set_id }) => row_set_id ?? []);
  for (const table of [contentBlocks, transcriptMessages, ingestIssues, transcriptCheckpoints]) {
    await transaction
      .delete(table)
      .where(and(eq(table.workspace_id, workspaceId), inArray(table.row_set_id, rowSetIds)));
  }
  if (rowSetIds.length > 0) await removeFromSearch(transaction, workspaceId, rowSetIds);
  await deleteShares(transaction, workspaceId, sessionId);
  await deleteAnnotationTexts(transaction, workspaceId, sessionId);
  await deleteDismissalReasons(transaction, workspaceId, sessionId);
  await transaction
    .update(sessions)
    .set({ initial_prompt: null, title: null })
    .where(and(eq(sessions.workspace_id, workspaceId), eq(sessions.session_id, sessionId)));
  return true;
}
