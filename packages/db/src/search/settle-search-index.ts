import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { transcriptMessages } from '../schema/messages.ts';
import { searchDocuments, searchIndexState } from '../schema/search.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import type { UsageChange } from '../transcripts/replaced-usage.ts';
import type { RowSet } from '../transcripts/transcript-rows.ts';

/**
 * Deletes the search documents of sessions whose rows were removed or replaced, and queues the sessions for indexing.
 * Documents of a session that only grew stay, as its old rows are the beginning of the new ones, whether these were
 * rewritten or appended; only their times follow later lines of a message with an earlier time. Call it after the
 * sessions' rows were refreshed; the caller holds the sessions' locks. Waits at most for one running batch of indexing.
 * `storedIds` are the sessions that may be indexed already; default all.
 */
export async function settleSearchIndex(
  transaction: Database,
  change: UsageChange,
  storedIds: ReadonlySet<string> = new Set(change.sessionIds),
): Promise<void> {
  const { workspaceId, sessionIds } = change;
  const toIds = (rows: readonly RowSet[]) => sql`${sql.param(rows.map(({ rowSetId }) => rowSetId))}::text[]`;
  const writtenIds = toIds(change.written);
  const rewrittenIds = toIds(change.written.filter(({ prefix }) => prefix === undefined));
  const workspace = opaqueWorkspaceId(workspaceId);
  const ofSessions = (ids: readonly string[]) =>
    sql`workspace_id = ${workspace} AND session_id = ANY(${sql.param([...ids])}::text[])`;
  const primary = sql`
    SELECT s.workspace_id, s.session_id, t.row_set_id, t.parser_version FROM ${sessions} AS s
    JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id
    WHERE s.workspace_id = ${workspace} AND s.session_id = ANY(${sql.param([...sessionIds])}::text[])`;
  const indexedIds = sessionIds.filter((id) => storedIds.has(id));
  if (indexedIds.length > 0) {
    const { rows: outdated } = await transaction.execute<{ session_id: string }>(sql`
      DELETE FROM ${searchIndexState} AS state
      WHERE ${ofSessions(indexedIds)} AND NOT EXISTS (
        SELECT FROM (${primary}) AS p
        WHERE p.session_id = state.session_id AND p.parser_version = state.parser_version AND (
          (p.row_set_id = state.row_set_id AND p.row_set_id <> ALL(${rewrittenIds}))
          OR (p.row_set_id = ANY(${rewrittenIds}) AND state.row_set_id = ANY(${sql.param([...(change.prefixRowSetIds ?? [])])}::text[]))
        ))
      RETURNING session_id`);
    const outdatedIds = outdated.map(({ session_id }) => session_id);
    if (outdatedIds.length > 0) {
      await transaction.execute(sql`DELETE FROM ${searchDocuments} WHERE ${ofSessions(outdatedIds)}`);
    }
  }
  await transaction.execute(sql`
    INSERT INTO ${searchIndexState} AS state (workspace_id, session_id, row_set_id, parser_version)
    SELECT p.workspace_id, p.session_id, p.row_set_id, p.parser_version FROM (${primary}) AS p ORDER BY p.session_id
    ON CONFLICT (workspace_id, session_id) DO UPDATE
    SET row_set_id = excluded.row_set_id, after_message_id = '', after_block_order = -1, failure_count = 0,
      waiting_since = excluded.waiting_since, next_attempt_at = excluded.next_attempt_at, indexed_at = NULL
    WHERE state.row_set_id <> excluded.row_set_id OR state.row_set_id = ANY(${writtenIds})`);
  // The sessions' state is locked now, so that no batch adds documents with the old times any more.
  if (indexedIds.length > 0) await updateTimes(transaction, change, primary);
}

/** Sets the times of kept documents whose messages were written again. */
async function updateTimes(
  transaction: Database,
  { workspaceId, written, prefixRowSetIds = [] }: UsageChange,
  primary: SQL,
): Promise<void> {
  const rewritten = written.filter(
    ({ prefix, firstRewrittenMessageId }) =>
      firstRewrittenMessageId !== undefined || (prefix === undefined && prefixRowSetIds.length > 0),
  );
  if (rewritten.length === 0) return;
  const workspace = opaqueWorkspaceId(workspaceId);
  const rowSetIds = sql.param(rewritten.map(({ rowSetId }) => rowSetId));
  const firstIds = sql.param(rewritten.map(({ firstRewrittenMessageId = '' }) => firstRewrittenMessageId));
  await transaction.execute(sql`
    UPDATE ${searchDocuments} AS d SET "timestamp" = m."timestamp"
    FROM (${primary}) AS p
    JOIN unnest(${rowSetIds}::text[], ${firstIds}::text[]) AS w (row_set_id, first_id) ON w.row_set_id = p.row_set_id
    JOIN LATERAL (
      SELECT * FROM ${transcriptMessages} WHERE workspace_id = ${workspace} AND row_set_id = w.row_set_id AND id >= w.first_id OFFSET 0
    ) AS m ON true
    WHERE d.workspace_id = ${workspace} AND d.session_id = p.session_id AND d.message_id = m.id
      AND d."timestamp" IS DISTINCT FROM m."timestamp"`);
}
