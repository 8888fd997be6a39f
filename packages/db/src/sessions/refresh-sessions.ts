import type { Database } from '../database/database.ts';
import { isInWorkspace, opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { listColumns } from '../schema/list-columns.ts';
import { repositoryRenames } from '../schema/repository-renames.ts';
import { transcriptFigures } from '../schema/transcript-figures.ts';
import { OPERATOR, sessions, transcripts } from '../schema/transcripts.ts';
import { ATTRIBUTION_COLUMNS, type AttributionRow, type Attributions, toAttributions } from '../usage/attribution.ts';

/** Columns that a session takes over from its primary transcript. */
const PRIMARY_COLUMNS = ['agent', 'is_subagent', 'parent_session_id', 'agent_id', ...Object.keys(transcriptFigures())];
/** Columns that it takes over from the version that says whose it is. */
const ORIGIN = ['uploader_key_id', 'machine', 'person'];
const DERIVED = [...PRIMARY_COLUMNS, ...ORIGIN, 'primary_transcript_id', 'transcript_count', 'other_uploader_count'];
export const SESSION_COLUMNS = ['workspace_id', 'session_id', ...DERIVED];

/** The uploader of the session's first version; null if unknown. */
const OWNER = sql.raw('first_value(t.uploader_key_id) OVER (PARTITION BY t.session_id ORDER BY t.id)');

/** True if a version was uploaded by a known uploader who may not speak for the session, see `selectVersions`. */
const IS_FOREIGN = sql.raw(`
  t.uploader_key_id IS NOT NULL AND t.uploader_key_id <> '${OPERATOR}' AND t.uploader_key_id IS DISTINCT FROM t.owner`);

/** Versions that speak for the session, either the owner's, or versions built on them if nothing else is left. */
const SPEAKS = sql.raw('(NOT is_foreign OR (NOT has_own AND (is_primary OR ingested_at IS NULL)))');

/**
 * The ingested transcripts `t` that pass `where`, with all their columns, the number of their session's transcripts,
 * how many of these are another's, and which one is primary. A session's owner is the uploader of its first ingested
 * transcript, by id, including superseded ones. Others' uploads are foreign, and rank after everything else. Otherwise
 * anyone who uploads something longer would take over the session. Versions of the operator and of unknown uploaders
 * are not foreign. Among equals the longest session file is primary, because it has the prompts and every run; else the
 * longest stream. If the agent rewrites its sessions it is the latest, which may be shorter. Content hashes break ties.
 *
 * `origin_…` name the owner of the session. They come from its first version that names a person, else a machine, and
 * not from the primary one. Otherwise anyone who appends a line to another's session would take over person and cost. A
 * foreign primary version, which contains all that the owner uploaded, is another's unless its person is the same, or
 * the owner is unknown, as of uploads that `doctor --fix` found without a row.
 */
export function selectVersions(where: SQL): SQL {
  const origins = sql.raw(
    ORIGIN.map(
      (column) => `first_value(${column}) OVER (
        PARTITION BY session_id ORDER BY speaks DESC, person IS NULL, machine IS NULL, id
      ) AS origin_${column}`,
    ).join(', '),
  );
  // Not by status, because a transcript that waits to be parsed again keeps its rows until then.
  return sql`
    SELECT *, count(*) OVER (PARTITION BY session_id)::int AS transcript_count,
      (count(*) FILTER (
        WHERE is_foreign
          AND (NOT is_primary OR owner IS NOT NULL AND (person IS NULL OR person IS DISTINCT FROM origin_person))
      ) OVER (PARTITION BY session_id))::int AS other_uploader_count
    FROM (
      SELECT *, ${origins}
      FROM (
        SELECT *, ${SPEAKS} AS speaks
        FROM (
          SELECT *, bool_or(NOT is_foreign AND ingested_at IS NOT NULL) OVER (PARTITION BY session_id) AS has_own,
            row_number() OVER (
              PARTITION BY session_id ORDER BY ingested_at IS NULL, is_foreign, is_stream,
                CASE WHEN has_rewritten THEN last_timestamp END DESC NULLS LAST, size_bytes DESC, sha256
            ) = 1 AS is_primary
          FROM (
            SELECT t.*, ${IS_FOREIGN} AS is_foreign, bool_or(t.is_rewritten) OVER (PARTITION BY t.session_id) AS has_rewritten
            FROM (
              SELECT t.*, ${OWNER} AS owner
              FROM ${transcripts} AS t
              WHERE ${where} AND (t.ingested_at IS NOT NULL OR t.superseded_by IS NOT NULL)
            ) AS t
          ) AS t
        ) AS t
      ) AS t
    ) AS t
    WHERE ingested_at IS NOT NULL`;
}

/**
 * The rows of a workspace's sessions, with SESSION_COLUMNS, derived from `version`, which has the rows of `selectVersions`. Their
 * repositories have the names that the workspace gave them.
 */
export function selectSessions(workspaceId: string, version: SQL): SQL {
  const toValue = (column: string): string =>
    column === '"repository"' ? 'coalesce(r.shown_name, v.repository) AS repository' : `v.${column}`;
  return sql`
    SELECT v.workspace_id, v.session_id, ${listColumns(PRIMARY_COLUMNS, toValue)},
      ${sql.raw(ORIGIN.map((name) => `v.origin_${name} AS ${name}`).join(', '))}, v.id AS primary_transcript_id,
      v.transcript_count, v.other_uploader_count
    FROM ${version} AS v
    LEFT JOIN ${repositoryRenames} AS r ON r.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND r.name = v.repository
    WHERE v.is_primary`;
}

/**
 * Derives the rows of sessions from their ingested transcripts, regardless of their order of arrival. One is primary,
 * the others are marked diverged. Deletes the row if none is left. The caller holds the sessions' locks. `storedIds`
 * names the sessions that may have other versions; default all. Returns the attribution of the remaining ones.
 */
export async function refreshSessions(
  transaction: Database,
  workspaceId: string,
  sessionIds: readonly string[],
  storedIds: ReadonlySet<string> = new Set(sessionIds),
): Promise<Attributions> {
  if (sessionIds.length === 0) return new Map();
  const toVersions = (ids: readonly string[]) =>
    sql`(${selectVersions(isInWorkspace('t', 'session_id', workspaceId, ids))})`;
  const { rows } = await transaction.execute<AttributionRow>(sql`
    INSERT INTO ${sessions} (${listColumns(SESSION_COLUMNS, (name) => name)})
    ${selectSessions(workspaceId, toVersions(sessionIds))} ORDER BY session_id
    ON CONFLICT (workspace_id, session_id) DO UPDATE
    SET ${listColumns(DERIVED, (name) => `${name} = excluded.${name}`)}, updated_at = excluded.updated_at
    RETURNING ${ATTRIBUTION_COLUMNS}`);
  const versionedIds = sessionIds.filter((id) => storedIds.has(id));
  if (versionedIds.length > 0) {
    await transaction.execute(sql`
      UPDATE ${transcripts} AS t SET is_diverged = NOT v.is_primary FROM ${toVersions(versionedIds)} AS v
      WHERE ${isInWorkspace('t', 'session_id', workspaceId, versionedIds)} AND t.id = v.id AND t.is_diverged = v.is_primary`);
  }
  const attributions = toAttributions(rows);
  const emptyIds = sessionIds.filter((id) => !attributions.has(id));
  if (emptyIds.length > 0) {
    await transaction.execute(
      sql`DELETE FROM ${sessions} AS s WHERE ${isInWorkspace('s', 'session_id', workspaceId, emptyIds)}`,
    );
  }
  return attributions;
}
