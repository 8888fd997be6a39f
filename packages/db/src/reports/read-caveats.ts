import type { ReportCaveats } from '@recount/contract';
import { COST_UNITS_PER_USD } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { sessions } from '../schema/transcripts.ts';
import { readDisagreements } from './read-disagreements-report.ts';
import { SESSION_SOURCE } from './read-sessions-report.ts';
import { USAGE_SOURCE, USAGE_TABLE } from './read-usage-report.ts';
import { joinSessions, toConditions } from './report-source.ts';
import type { ScopedTable } from './rollup-source.ts';
import { findSessionDays } from './totals-source.ts';

const MAX_NAMED_MODELS = 100;

/** Known inaccuracies of the usage that passes a filter; credited responses only. */
type Caveats = Omit<ReportCaveats, 'price_date' | 'unpriced'> & { unpriced: Omit<ReportCaveats['unpriced'], 'terms'> };

interface Row extends Record<string, unknown> {
  unfinalised_responses: number;
  unfinalised_tokens_out: number;
  estimated_tokens_out: number;
  estimated_cost_usd: number;
  unpriced_responses: number;
  unpriced_tokens: number;
  default_priced_responses: number;
  models: string[];
  without_timestamp: number;
}

export async function readCaveats(database: Database, filter: ReportFilter): Promise<Caveats> {
  const atAnyTime = { ...filter, from: null, to: null };
  const scope = { ...filter, groupBy: [] };
  const usage = USAGE_TABLE({ ...scope, sessionDays: await findSessionDays(database, scope) });
  const anyTime = USAGE_TABLE({ ...atAnyTime, groupBy: [] });
  const fromUsage = (of: ReportFilter, { table, sessions }: ScopedTable) => sql`
    FROM ${table} ${sessions ?? joinSessions(USAGE_SOURCE, filter)} WHERE ${toConditions(of, USAGE_SOURCE)} AND NOT u.is_shared`;
  const { rows } = await database.execute<Row>(sql`
    WITH ${usage.query === undefined ? sql`` : sql`${usage.query},`} usage AS (
      SELECT u.model, sum(u.unfinalised_responses) AS unfinalised_responses,
        sum(u.unfinalised_tokens_out) AS unfinalised_tokens_out, sum(u.estimated_tokens_out) AS estimated_tokens_out,
        sum(u.tokens_out) AS tokens_out, sum(u.cost_output_units) AS cost_output_units,
        sum(u.unpriced_responses) AS unpriced_responses, sum(u.unpriced_tokens) AS unpriced_tokens,
        sum(u.default_priced_responses) AS default_priced_responses
      ${fromUsage(filter, usage)}
      GROUP BY u.model
    )
    SELECT
      coalesce(sum(unfinalised_responses), 0)::float8 AS unfinalised_responses,
      coalesce(sum(unfinalised_tokens_out), 0)::float8 AS unfinalised_tokens_out,
      coalesce(sum(estimated_tokens_out), 0)::float8 AS estimated_tokens_out,
      -- The price of a token is the average of its model's, because roll-ups do not tell the terms of unfinalised ones.
      (coalesce(sum(
        (estimated_tokens_out - unfinalised_tokens_out) * cost_output_units / nullif(tokens_out, 0)
      ), 0) / ${COST_UNITS_PER_USD})::float8 AS estimated_cost_usd,
      coalesce(sum(unpriced_responses), 0)::float8 AS unpriced_responses,
      coalesce(sum(unpriced_tokens), 0)::float8 AS unpriced_tokens,
      coalesce(sum(default_priced_responses), 0)::float8 AS default_priced_responses,
      ARRAY(
        SELECT model FROM usage WHERE unpriced_responses > 0 AND model IS NOT NULL
        ORDER BY unpriced_tokens DESC, model LIMIT ${MAX_NAMED_MODELS}
      ) AS models,
      (
        SELECT coalesce(sum(u.responses), 0)::float8 ${fromUsage(atAnyTime, anyTime)} AND u.bucket_start IS NULL
      ) AS without_timestamp
    FROM usage`);
  const [row] = rows;
  if (row === undefined) throw new Error('An aggregate without a row');
  return {
    unfinalised: {
      responses: row.unfinalised_responses,
      tokens_out: row.unfinalised_tokens_out,
      estimated_tokens_out: row.estimated_tokens_out,
      estimated_cost_usd: row.estimated_cost_usd,
    },
    unpriced: { responses: row.unpriced_responses, tokens: row.unpriced_tokens, models: row.models },
    default_priced_responses: row.default_priced_responses,
    without_timestamp: row.without_timestamp,
    sessions: await readIncompleteSessions(database, filter),
    disagreements: await readDisagreements(database, filter),
  };
}

/**
 * By the session's start, because what is missing has no time. Usage recorded beside a session, as a child of it,
 * counts as known.
 */
async function readIncompleteSessions(database: Database, filter: ReportFilter): Promise<ReportCaveats['sessions']> {
  const { rows } = await database.execute<ReportCaveats['sessions'] & Record<string, unknown>>(sql`
    SELECT
      count(*) FILTER (WHERE f.tokens_in IS NULL AND NOT EXISTS (
        SELECT FROM ${sessions} AS child
        WHERE child.workspace_id = ${filter.workspaceId} AND child.parent_session_id = f.session_id AND child.api_response_count > 0
      ))::float8 AS without_usage,
      count(*) FILTER (WHERE f.output_only_count > 0)::float8 AS output_only
    FROM ${sessions} AS f ${joinSessions(SESSION_SOURCE, filter)}
    WHERE ${toConditions(filter, SESSION_SOURCE)} AND (f.tokens_in IS NULL OR f.output_only_count > 0)`);
  return { without_usage: rows[0]?.without_usage ?? 0, output_only: rows[0]?.output_only ?? 0 };
}
