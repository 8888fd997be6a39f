import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { toHiddenWorkspace } from '../planner.ts';
import type { RowSet } from '../transcripts/row-set.ts';
import { sessions, transcripts } from '../transcripts/schema.ts';
import type { UsageChange } from '../usage/replaced-usage.ts';
import { searchDocuments, searchIndexState } from './schema.ts';

/**
 * Deletes the search documents of sessions whose rows are gone or were replaced, and has the sessions indexed again.
 * Those of a version that merely grew stay, as its rows are the beginning of the new ones, whether these were written again
 * or added to them. After the sessions' rows were
 * refreshed; the caller holds the sessions' locks. Waits for a batch of indexing under way, and no longer.
 */
export async function settleSearchIndex(transaction: Database, change: UsageChange): Promise<void> {
  const { workspaceId, sessionIds } = change;
  const toIds = (rows: readonly RowSet[]) => sql`${sql.param(rows.map(({ rowSetId }) => rowSetId))}::text[]`;
  const writtenIds = toIds(change.written);
  const rewrittenIds = toIds(change.written.filter(({ kept }) => kept === undefined));
  const workspace = toHiddenWorkspace(workspaceId);
  const ofSessions = (ids: readonly string[]) =>
    sql`workspace_id = ${workspace} AND session_id = ANY(${sql.param([...ids])}::text[])`;
  const primary = sql`
    SELECT s.session_id, t.row_set_id, t.parser_version FROM ${sessions} AS s
    JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id
    WHERE s.workspace_id = ${workspace} AND s.session_id = ANY(${sql.param([...sessionIds])}::text[])`;
  const { rows: outdated } = await transaction.execute<{ session_id: string }>(sql`
    DELETE FROM ${searchIndexState} AS state
    WHERE ${ofSessions(sessionIds)} AND NOT EXISTS (
      SELECT FROM (${primary}) AS p
      WHERE p.session_id = state.session_id AND p.parser_version = state.parser_version AND (
        (p.row_set_id = state.row_set_id AND p.row_set_id <> ALL(${rewrittenIds}))
        OR (p.row_set_id = ANY(${rewrittenIds}) AND state.row_set_id = ANY(${sql.param([...change.removedRowSetIds])}::text[]))
      ))
    RETURNING session_id`);
  const outdatedIds = outdated.map(({ session_id }) => session_id);
  if (outdatedIds.length > 0) {
    await transaction.execute(sql`DELETE FROM ${searchDocuments} WHERE ${ofSessions(outdatedIds)}`);
  }
  await transaction.execute(sql`
    INSERT INTO ${searchIndexState} AS state (workspace_id, session_id, row_set_id, parser_version)
    SELECT ${workspaceId}, p.session_id, p.row_set_id, p.parser_version FROM (${primary}) AS p ORDER BY p.session_id
    ON CONFLICT (workspace_id, session_id) DO UPDATE
    SET row_set_id = excluded.row_set_id, after_message_id = '', after_block_order = -1, failure_count = 0,
      waiting_since = now(), next_attempt_at = now(), indexed_at = NULL
    WHERE state.row_set_id <> excluded.row_set_id OR state.row_set_id = ANY(${writtenIds})`);
}
