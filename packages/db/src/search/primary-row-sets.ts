import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { isOneOf } from '../filters/attributed-to.ts';
import { hasOneOf, hasWork, isOfPeople, isSentBy, type ReportFilter } from '../filters/report-filter.ts';
import { lastActivity, sessions, transcripts } from '../schema/transcripts.ts';

/** A row set that search shows, with its session. */
export interface PrimaryRowSet {
  rowSetId: string;
  sessionId: string;
  transcriptId: string;
  isSubagent: boolean;
  project: string | null;
  /** Milliseconds since 1970. */
  firstMs: number | null;
}

/**
 * Selects the row sets that are of a session's primary transcript and pass the filter. Search finds no other texts,
 * whatever its segments have.
 */
export async function readPrimaryRowSets(
  snapshot: Database,
  filter: ReportFilter,
  rowSetIds: readonly string[],
): Promise<PrimaryRowSet[]> {
  const { workspaceId } = filter;
  const conditions = sql.join(toConditions(filter), sql` AND `);
  const { rows } = await snapshot.execute<PrimaryRowSet & Record<string, unknown>>(sql`
    SELECT k.row_set_id AS "rowSetId", t.session_id AS "sessionId", t.id AS "transcriptId",
      t.is_subagent AS "isSubagent", s.project, s.first_ms AS "firstMs"
    FROM unnest(${sql.param([...rowSetIds])}::text[]) AS k (row_set_id)
    JOIN LATERAL (
      SELECT t.id, t.session_id, t.is_subagent, t.person, t.uploader_key_id FROM ${transcripts} AS t
      WHERE t.workspace_id = ${workspaceId} AND t.row_set_id = k.row_set_id OFFSET 0
    ) AS t ON true
    JOIN LATERAL (
      SELECT s.project, extract(epoch FROM s.first_timestamp)::float8 * 1000 AS first_ms FROM ${sessions} AS s
      WHERE s.workspace_id = ${workspaceId} AND s.session_id = t.session_id AND s.primary_transcript_id = t.id
        AND ${conditions} OFFSET 0
    ) AS s ON true`);
  return rows;
}

/** More row sets than this are not listed, as each takes memory. */
const MAX_LISTED_ROW_SETS = 16_384;

/**
 * Lists all row sets that pass a filter of sessions, so that no candidates of others are looked at. Undefined if the
 * filter names nothing that few sessions may have, or too many pass.
 */
export async function listPrimaryRowSets(
  snapshot: Database,
  filter: ReportFilter,
): Promise<PrimaryRowSet[] | undefined> {
  const { workspaceId, sessionId, project, repository, gitBranch, agent, machine, model, kindOfWork, to } = filter;
  const person = filter.attributed ?? filter.person;
  const names = [sessionId, project, repository, gitBranch, agent, machine, person, model, kindOfWork, to];
  if (!names.some(Boolean)) return undefined;
  const { rows } = await snapshot.execute<PrimaryRowSet & Record<string, unknown>>(sql`
    SELECT t.row_set_id AS "rowSetId", t.session_id AS "sessionId", t.id AS "transcriptId",
      t.is_subagent AS "isSubagent", s.project, extract(epoch FROM s.first_timestamp)::float8 * 1000 AS "firstMs"
    FROM ${sessions} AS s
    JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id
    WHERE s.workspace_id = ${workspaceId} AND t.row_set_id IS NOT NULL AND ${sql.join(toConditions(filter), sql` AND `)}
    LIMIT ${MAX_LISTED_ROW_SETS + 1}::int`);
  return rows.length > MAX_LISTED_ROW_SETS ? undefined : rows;
}

function toConditions(filter: ReportFilter): SQL[] {
  const conditions = [
    sql`true`,
    filter.sessionId && sql`s.session_id = ${filter.sessionId}`,
    filter.project && isOneOf(sql`s.project`, filter.project),
    filter.repository && isOneOf(sql`s.repository`, filter.repository),
    filter.gitBranch && isOneOf(sql`s.git_branch`, filter.gitBranch),
    filter.agent && isOneOf(sql`s.agent`, filter.agent),
    filter.machine && isOneOf(sql`s.machine`, filter.machine),
    isOfPeople(filter, sql`s.person`, sql`s.first_timestamp`),
    // Search shows nothing of other versions.
    filter.onlyNames && isSentBy(filter.onlyNames, sql`t`, sql`s`),
    filter.model && hasOneOf(sql`s.models`, filter.model),
    filter.kindOfWork && hasWork(sql`s.session_id`, filter.workspaceId, filter.kindOfWork),
    filter.subagents === 'exclude' && sql`NOT t.is_subagent`,
    // Its messages have these times, or others between them.
    // The second condition is the first one's, as an index has it.
    filter.to !== null &&
      sql`s.first_timestamp < ${filter.to}::timestamptz
        AND ${lastActivity(sql`s.first_timestamp`)} < ${filter.to}::timestamptz`,
    filter.from !== null && sql`s.last_timestamp >= ${filter.from}::timestamptz`,
  ];
  return conditions.filter((condition) => condition instanceof Object);
}
