import type { Database } from '../database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { transcriptFigures } from '../schema/transcript-figures.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { isInWorkspace } from './in-workspace.ts';
import { list } from './ledger-definition.ts';

/** Columns that a session takes over from its primary transcript. */
const TAKEN_OVER = ['agent', 'is_subagent', 'parent_session_id', 'agent_id', ...Object.keys(transcriptFigures())];
const DERIVED = [...TAKEN_OVER, 'primary_transcript_id', 'transcript_count'];
export const SESSION_COLUMNS = ['workspace_id', 'session_id', ...DERIVED];

/**
 * The ingested transcripts `t` that `where` admits, with all of their columns, how many of their session's there are, and which
 * is primary: the longest session file, as it has the prompts and every run; else the longest stream. Content hashes decide
 * ties.
 */
export function selectVersions(where: SQL): SQL {
  // Not by status: a transcript that waits to be parsed anew keeps its rows meanwhile.
  return sql`
    SELECT t.*, count(*) OVER (PARTITION BY t.session_id)::int AS transcript_count, row_number() OVER (
      PARTITION BY t.session_id ORDER BY t.format = 'claude-stream-json', t.size_bytes DESC, t.sha256
    ) = 1 AS is_primary
    FROM ${transcripts} AS t
    WHERE ${where} AND t.ingested_at IS NOT NULL`;
}

/** The rows of sessions, with SESSION_COLUMNS, as they follow from `version`, which has the rows of `selectVersions`. */
export function selectSessions(): SQL {
  return sql`
    SELECT workspace_id, session_id, ${list(TAKEN_OVER, (name) => name)}, id AS primary_transcript_id, transcript_count
    FROM version WHERE is_primary`;
}

/**
 * Makes the rows of sessions follow from their ingested transcripts, whose order of arrival never matters: one is primary,
 * the others are marked diverged. Deletes the row where none is left. The caller holds the sessions' locks.
 */
export async function refreshSessions(
  transaction: Database,
  workspaceId: string,
  sessionIds: readonly string[],
): Promise<void> {
  const ofSessions = (alias: string) => isInWorkspace(alias, 'session_id', workspaceId, sessionIds);
  await transaction.execute(sql`
    WITH version AS (${selectVersions(ofSessions('t'))}
    ), marked AS (
      UPDATE ${transcripts} AS t SET is_diverged = NOT v.is_primary
      FROM version AS v
      WHERE t.workspace_id = v.workspace_id AND t.id = v.id AND t.is_diverged = v.is_primary
    ), deleted AS (
      DELETE FROM ${sessions} AS s
      WHERE ${ofSessions('s')} AND NOT EXISTS (SELECT FROM version AS v WHERE v.session_id = s.session_id)
    )
    INSERT INTO ${sessions} (${list(SESSION_COLUMNS, (name) => name)})
    ${selectSessions()} ORDER BY session_id
    ON CONFLICT (workspace_id, session_id) DO UPDATE
    SET ${list(DERIVED, (name) => `${name} = excluded.${name}`)}, updated_at = now()`);
}
