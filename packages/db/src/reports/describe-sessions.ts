import { toSessionTitle } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { selectTitleSources, type TitledRow } from '../transcripts/title-sources.ts';

interface Description extends Record<string, unknown>, TitledRow {
  session_id: string;
  start_ms: number | null;
  is_subagent: boolean;
}

/** Adds title, start and kind of its session to each row of a report by session; one look-up for all rows. */
export async function describeSessions<Report extends { rows: readonly object[] }>(
  database: Database,
  { workspaceId }: Pick<ReportFilter, 'workspaceId'>,
  report: Report,
): Promise<Report> {
  const toId = (row: object): string => (row as { session?: string }).session ?? '';
  const ids = [...new Set(report.rows.map(toId))];
  if (ids.length === 0) return report;
  const { rows } = await database.execute<Description>(sql`
    SELECT f.session_id, ${selectTitleSources(workspaceId)} AS title_sources, f.is_subagent,
      extract(epoch FROM f.first_timestamp)::float8 * 1000 AS start_ms
    FROM recount.sessions AS f
    WHERE f.workspace_id = ${workspaceId} AND f.session_id = ANY(${sql.param(ids)}::text[])`);
  const known = new Map(rows.map((row) => [row.session_id, row]));
  const describe = (row: object): object => {
    const { title_sources: titleSources, start_ms: startMs = null, is_subagent = false } = known.get(toId(row)) ?? {};
    const title = titleSources === undefined ? null : toSessionTitle(titleSources);
    const start = startMs === null ? null : new Date(startMs).toISOString();
    return { ...row, session_title: title, session_start: start, is_subagent };
  };
  return { ...report, rows: report.rows.map(describe) };
}
