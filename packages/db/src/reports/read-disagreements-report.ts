import type { ReportBody, ReportRow, ReportTotals } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { CREDIT_ORDER, FIGURE_ORDER } from '../usage/ledger-definition.ts';
import type { ReportPage } from './report-groups.ts';
import { joinSessions, toConditions, toReportSource } from './report-source.ts';

export type DisagreementFigures = ReportTotals<'disagreements'>;

const COPY_SOURCE = toReportSource('e', {
  time: 'timestamp',
  own: ['git_branch', 'agent_version', 'model', 'turn_line'],
});

/**
 * Ledger rows of responses whose copies disagree, with at least one copy that passes the filter. It is unknown which
 * one is right.
 */
const selectDisputed = (filter: ReportFilter): SQL => sql`
  SELECT l.* FROM recount.usage_ledger AS l
  WHERE l.workspace_id = ${filter.workspaceId} AND l.disagreements IS NOT NULL AND EXISTS (
    SELECT FROM recount.usage_entries AS e ${joinSessions(COPY_SOURCE, filter)}
    WHERE e.agent = l.agent AND e.response_key = l.response_key
      AND ${toConditions(filter, COPY_SOURCE)})`;

export async function readDisagreements(database: Database, filter: ReportFilter): Promise<DisagreementFigures> {
  const { rows } = await database.execute<DisagreementFigures & Record<string, unknown>>(sql`
    SELECT count(*)::float8 AS responses, coalesce(sum(cost_usd), 0)::float8 AS cost_usd,
      coalesce(sum(lowest_cost_usd), 0)::float8 AS lowest_cost_usd,
      coalesce(sum(highest_cost_usd), 0)::float8 AS highest_cost_usd
    FROM (${selectDisputed(filter)}) AS disputed`);
  const [row] = rows;
  if (row === undefined) throw new Error('An aggregate without a row');
  return row;
}

/** The copies of responses that disagree, with their places and uploaders. The largest cost range comes first. */
export async function readDisagreementsReport(
  database: Database,
  filter: ReportFilter,
  { limit }: Pick<ReportPage, 'limit'>,
): Promise<ReportBody<'disagreements'>> {
  const totals = await readDisagreements(database, filter);
  const range = sql.raw('coalesce(highest_cost_usd - lowest_cost_usd, 0)');
  const { rows } = await database.execute<ReportRow<'disagreements'> & Record<string, unknown>>(sql`
    WITH disputed AS MATERIALIZED (
      SELECT workspace_id, agent, response_key, disagreements, ${range} AS cost_range
      FROM (${selectDisputed(filter)}) AS disputed
      ORDER BY cost_range DESC, agent, response_key LIMIT ${limit + 1}
    )
    SELECT d.response_key AS response_id, d.disagreements, d.cost_range::float8 AS cost_range_usd, e.session_id,
      t.id AS transcript_id, e.line_number, t.uploader_key_id,
      row_number() OVER (PARTITION BY d.agent, d.response_key ORDER BY ${CREDIT_ORDER}) = 1 AS is_credited,
      row_number() OVER (PARTITION BY d.agent, d.response_key ORDER BY ${FIGURE_ORDER}, ${CREDIT_ORDER}) = 1 AS has_figures,
      e.model, to_char(e."timestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "timestamp",
      e.is_unfinalised, e.tokens_in::float8 AS tokens_in, e.tokens_out::float8 AS tokens_out,
      e.cache_read::float8 AS cache_read, e.cache_write::float8 AS cache_write, e.cost_usd::float8 AS cost_usd
    FROM disputed AS d
    JOIN recount.usage_entries AS e
      ON e.workspace_id = ${opaqueWorkspaceId(filter.workspaceId)} AND e.agent = d.agent AND e.response_key = d.response_key
    JOIN recount.transcripts AS t ON t.workspace_id = ${opaqueWorkspaceId(filter.workspaceId)} AND t.row_set_id = e.row_set_id
    ORDER BY d.cost_range DESC, d.agent, d.response_key, is_credited DESC, t.id, e.entry_number
    LIMIT ${limit + 1}`);
  return { rows: rows.slice(0, limit), totals, truncated: rows.length > limit };
}
