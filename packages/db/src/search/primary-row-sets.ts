import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';

/** A row set that search shows, with its session. */
export interface PrimaryRowSet {
  rowSetId: string;
  sessionId: string;
  transcriptId: string;
  isSubagent: boolean;
  project: string | null;
  title: string | null;
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
      t.is_subagent AS "isSubagent", s.project, s.title, s.first_ms AS "firstMs"
    FROM unnest(${sql.param([...rowSetIds])}::text[]) AS k (row_set_id)
    JOIN LATERAL (
      SELECT t.id, t.session_id, t.is_subagent FROM ${transcripts} AS t
      WHERE t.workspace_id = ${workspaceId} AND t.row_set_id = k.row_set_id OFFSET 0
    ) AS t ON true
    JOIN LATERAL (
      SELECT s.project, s.title, extract(epoch FROM s.first_timestamp)::float8 * 1000 AS first_ms FROM ${sessions} AS s
      WHERE s.workspace_id = ${workspaceId} AND s.session_id = t.session_id AND s.primary_transcript_id = t.id
        AND ${conditions} OFFSET 0
    ) AS s ON true`);
  return rows;
}

function toConditions(filter: ReportFilter): SQL[] {
  const conditions = [
    sql`true`,
    filter.sessionId && sql`s.session_id = ${filter.sessionId}`,
    filter.project && sql`s.project = ${filter.project}`,
    filter.gitBranch && sql`s.git_branch = ${filter.gitBranch}`,
    filter.agent && sql`s.agent = ${filter.agent}`,
    filter.machine && sql`s.machine = ${filter.machine}`,
    filter.person && sql`s.person = ${filter.person}`,
    filter.model && sql`${filter.model} = ANY(s.models)`,
    filter.subagents === 'exclude' && sql`NOT t.is_subagent`,
    // Its messages have these times, or others between them.
    filter.to !== null && sql`s.first_timestamp < ${filter.to}::timestamptz`,
    filter.from !== null && sql`s.last_timestamp >= ${filter.from}::timestamptz`,
  ];
  return conditions.filter((condition) => condition instanceof Object);
}
