import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { isInWorkspace } from '../planner.ts';
import { OPERATOR, sessions, transcripts } from '../transcripts/schema.ts';
import { transcriptFigures } from '../transcripts/transcript-figures.ts';
import { ATTRIBUTION_COLUMNS, type AttributionRow, type Attributions, toAttributions } from '../usage/attribution.ts';
import { list } from '../usage/ledger-definition.ts';

/** Columns that a session takes over from its primary transcript. */
const TAKEN_OVER = [
  'agent',
  'is_subagent',
  'parent_session_id',
  'agent_id',
  'uploader_key_id',
  'machine',
  'person',
  ...Object.keys(transcriptFigures()),
];
const DERIVED = [...TAKEN_OVER, 'primary_transcript_id', 'transcript_count', 'other_uploader_count'];
export const SESSION_COLUMNS = ['workspace_id', 'session_id', ...DERIVED];

/** Whether a version was brought by a known uploader who may not speak for the session: see `selectVersions`. */
const IS_FOREIGN = sql.raw(`
  t.uploader_key_id IS NOT NULL AND t.uploader_key_id <> '${OPERATOR}'
  AND t.uploader_key_id IS DISTINCT FROM first_value(t.uploader_key_id) OVER (PARTITION BY t.session_id ORDER BY t.id)`);

/**
 * The ingested transcripts `t` that pass `where`, with all their columns, the number of their session's transcripts,
 * how many others of it are foreign, and which one is primary. A session's owner is the uploader of its first ingested
 * transcript, by id, including superseded ones. What others bring is foreign, and ranks after everything that is not:
 * otherwise anyone who uploads something longer would take over the session. Versions of the operator and of unknown
 * uploaders are not foreign. Among equals the longest session file is primary, because it has the prompts and every
 * run; else the longest stream. If the agent rewrites its sessions it is the latest, which may be shorter. Content
 * hashes break ties.
 */
export function selectVersions(where: SQL): SQL {
  // Not by status: a transcript that waits to be parsed again keeps its rows in the meantime.
  return sql`
    SELECT *, count(*) OVER (PARTITION BY session_id)::int AS transcript_count,
      (count(*) FILTER (WHERE is_foreign) OVER (PARTITION BY session_id))::int - is_foreign::int AS other_uploader_count,
      row_number() OVER (
        PARTITION BY session_id ORDER BY is_foreign, is_stream, CASE WHEN has_rewritten THEN last_timestamp END DESC NULLS LAST,
          size_bytes DESC, sha256
      ) = 1 AS is_primary
    FROM (
      SELECT t.*, ${IS_FOREIGN} AS is_foreign, bool_or(t.is_rewritten) OVER (PARTITION BY t.session_id) AS has_rewritten
      FROM ${transcripts} AS t
      WHERE ${where} AND (t.ingested_at IS NOT NULL OR t.superseded_by IS NOT NULL)
    ) AS t
    WHERE ingested_at IS NOT NULL`;
}

/** The rows of sessions, with SESSION_COLUMNS, derived from `version`, which has the rows of `selectVersions`. */
export function selectSessions(version: SQL): SQL {
  return sql`
    SELECT workspace_id, session_id, ${list(TAKEN_OVER, (name) => name)}, id AS primary_transcript_id, transcript_count,
      other_uploader_count
    FROM ${version} AS version WHERE is_primary`;
}

/**
 * Derives the rows of sessions from their ingested transcripts, regardless of their order of arrival: one is primary,
 * the others are marked diverged. Deletes the row if none is left. The caller holds the sessions' locks. `storedIds`:
 * the sessions that may have other versions; default all. Returns what those that are left are attributed to.
 */
export async function refreshSessions(
  transaction: Database,
  workspaceId: string,
  sessionIds: readonly string[],
  storedIds: ReadonlySet<string> = new Set(sessionIds),
): Promise<Attributions> {
  const toVersions = (ids: readonly string[]) =>
    sql`(${selectVersions(isInWorkspace('t', 'session_id', workspaceId, ids))})`;
  const { rows } = await transaction.execute<AttributionRow>(sql`
    INSERT INTO ${sessions} (${list(SESSION_COLUMNS, (name) => name)})
    ${selectSessions(toVersions(sessionIds))} ORDER BY session_id
    ON CONFLICT (workspace_id, session_id) DO UPDATE
    SET ${list(DERIVED, (name) => `${name} = excluded.${name}`)}, updated_at = excluded.updated_at
    RETURNING ${ATTRIBUTION_COLUMNS}`);
  const versionedIds = sessionIds.filter((id) => storedIds.has(id));
  if (versionedIds.length > 0) {
    await transaction.execute(sql`
      UPDATE ${transcripts} AS t SET is_diverged = NOT v.is_primary FROM ${toVersions(versionedIds)} AS v
      WHERE ${isInWorkspace('t', 'session_id', workspaceId, versionedIds)} AND t.id = v.id AND t.is_diverged = v.is_primary`);
  }
  const found = toAttributions(rows);
  const emptyIds = sessionIds.filter((id) => !found.has(id));
  if (emptyIds.length > 0) {
    await transaction.execute(
      sql`DELETE FROM ${sessions} AS s WHERE ${isInWorkspace('s', 'session_id', workspaceId, emptyIds)}`,
    );
  }
  return found;
}
