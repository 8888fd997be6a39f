import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import { searchDocuments, searchIndexState } from '../../schema/search.ts';
import { sessions, transcripts } from '../../schema/transcripts.ts';
import type { UsageChange } from '../replaced-usage.ts';

/**
 * Deletes the search documents of a session whose rows are gone or were replaced, and has the session indexed anew.
 * Those of a version that merely grew stay, as its rows are the beginning of the new ones. After the session's row was
 * refreshed; the caller holds the session's lock. Waits for a batch of indexing under way, and no longer.
 */
export async function settleSearchIndex(transaction: Database, change: UsageChange): Promise<void> {
  const { workspaceId, sessionId, written } = change;
  const writtenId = written?.transcriptId ?? null;
  const ofSession = sql`workspace_id = ${workspaceId} AND session_id = ${sessionId}`;
  const primary = sql`
    SELECT t.id, t.parser_version FROM ${sessions} AS s
    JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id
    WHERE s.workspace_id = ${workspaceId} AND s.session_id = ${sessionId}`;
  const { rows: outdated } = await transaction.execute(sql`
    DELETE FROM ${searchIndexState} AS state
    WHERE ${ofSession} AND NOT EXISTS (
      SELECT FROM (${primary}) AS p
      WHERE p.parser_version = state.parser_version AND (
        (p.id = state.transcript_id AND p.id IS DISTINCT FROM ${writtenId}::text)
        OR (p.id = ${writtenId}::text AND state.transcript_id = ANY(${sql.param([...change.removedTranscriptIds])}::text[]))
      ))
    RETURNING transcript_id`);
  if (outdated.length > 0) await transaction.execute(sql`DELETE FROM ${searchDocuments} WHERE ${ofSession}`);
  await transaction.execute(sql`
    INSERT INTO ${searchIndexState} AS state (workspace_id, session_id, transcript_id, parser_version)
    SELECT ${workspaceId}, ${sessionId}, p.id, p.parser_version FROM (${primary}) AS p
    ON CONFLICT (workspace_id, session_id) DO UPDATE
    SET transcript_id = excluded.transcript_id, after_message_id = '', after_block_order = -1, failure_count = 0,
      waiting_since = now(), next_attempt_at = now(), indexed_at = NULL
    WHERE state.transcript_id <> excluded.transcript_id`);
}
