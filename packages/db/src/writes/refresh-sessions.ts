import type { Database } from '../database.ts';
import { sql } from '../drizzle.cjs';
import { transcriptFigures } from '../schema/transcript-figures.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { isInWorkspace } from './in-workspace.ts';
import { list } from './ledger-definition.ts';

/** Columns that a session takes over from its primary transcript. */
const TAKEN_OVER = ['agent', 'is_subagent', 'parent_session_id', 'agent_id', ...Object.keys(transcriptFigures())];
const DERIVED = [...TAKEN_OVER, 'primary_transcript_id', 'transcript_count'];

/**
 * Makes the rows of sessions follow from their ingested transcripts: the longest one is primary (ties by content hash,
 * so that the order of arrival never matters), the others are marked diverged. A session file goes before any stream: it
 * has the prompts, and every run of the session. Deletes the row where none is left.
 * The caller holds the sessions' locks.
 */
export async function refreshSessions(
  transaction: Database,
  workspaceId: string,
  sessionIds: readonly string[],
): Promise<void> {
  const ofSessions = (alias: string) => isInWorkspace(alias, 'session_id', workspaceId, sessionIds);
  // Not by status: a transcript that waits to be parsed anew keeps its rows meanwhile.
  await transaction.execute(sql`
    WITH version AS (
      SELECT t.*, count(*) OVER (PARTITION BY t.session_id)::int AS transcript_count, row_number() OVER (
        PARTITION BY t.session_id ORDER BY t.format = 'claude-stream-json', t.size_bytes DESC, t.sha256
      ) = 1 AS is_primary
      FROM ${transcripts} AS t
      WHERE ${ofSessions('t')} AND t.ingested_at IS NOT NULL
    ), marked AS (
      UPDATE ${transcripts} AS t SET is_diverged = NOT v.is_primary
      FROM version AS v
      WHERE t.workspace_id = v.workspace_id AND t.id = v.id AND t.is_diverged = v.is_primary
    ), deleted AS (
      DELETE FROM ${sessions} AS s
      WHERE ${ofSessions('s')} AND NOT EXISTS (SELECT FROM version AS v WHERE v.session_id = s.session_id)
    )
    INSERT INTO ${sessions} (workspace_id, session_id, ${list(DERIVED, (name) => name)})
    SELECT workspace_id, session_id, ${list(TAKEN_OVER, (name) => name)}, id, transcript_count
    FROM version WHERE is_primary ORDER BY session_id
    ON CONFLICT (workspace_id, session_id) DO UPDATE
    SET ${list(DERIVED, (name) => `${name} = excluded.${name}`)}, updated_at = now()`);
}
