import type { ReportBody, ReportTotals } from '@recount/contract';
import { toKnownCost, toUsd } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { sumOfTokens } from '../schema/usage-columns.ts';
import { detailNumber, readEvents } from './event-source.ts';
import { toIso } from './local-days.ts';
import type { ReportPage } from './report-groups.ts';
import { joinSessions, lookUpIfShort, toConditions } from './report-source.ts';

type PullRequestFigures = Omit<ReportTotals<'pull-requests'>, 'pull_requests' | 'mean_cost_usd'>;

interface Row extends Record<string, unknown> {
  url: string | null;
  repository: string | null;
  number: number | null;
  first_ms: number | null;
  last_ms: number | null;
  sessions: number;
  responses: number;
  total_tokens: number;
  cost_units: number;
  unpriced: number;
  pull_requests: number;
  priced_pull_requests: number;
}

/**
 * Pull requests that sessions are linked to, newest first. The filter selects links; the cost covers whole sessions.
 */
export async function readPullRequestsReport(
  database: Database,
  filter: ReportFilter,
  { limit }: Pick<ReportPage, 'limit'>,
): Promise<ReportBody<'pull-requests'>> {
  const links = readEvents(filter, ['pull_request']);
  const { rows } = await database.execute<Row>(sql`
    WITH link AS MATERIALIZED (
      SELECT e.name AS url, e.session_id, min(e."timestamp") AS first_linked, max(e."timestamp") AS last_linked,
        max(e.details ->> 'repository') AS repository, max(${detailNumber('number')}) AS number
      FROM ${links.table} ${joinSessions(links.source, filter)}
      WHERE ${toConditions(filter, links.source)} AND ${links.where} AND e.name IS NOT NULL
      GROUP BY e.name, e.session_id
    ), member AS (
      SELECT url, session_id FROM link
      UNION
      SELECT link.url, child.session_id FROM link CROSS JOIN LATERAL (
        SELECT session_id FROM recount.sessions
        WHERE workspace_id = ${filter.workspaceId} AND parent_session_id = link.session_id ${lookUpIfShort(filter)}
      ) AS child
    ), usage AS MATERIALIZED (
      SELECT u.session_id, sum(u.responses) AS responses, sum(u.cost_units) AS cost_units,
        sum(u.unpriced_responses) AS unpriced,
        sum(${sql.raw(sumOfTokens('u'))}) AS total_tokens
      FROM (SELECT DISTINCT session_id FROM member) AS m CROSS JOIN LATERAL (
        SELECT * FROM recount.usage_day_rollup
        WHERE workspace_id = ${filter.workspaceId} AND session_id = m.session_id AND NOT is_shared ${lookUpIfShort(filter)}
      ) AS u
      GROUP BY u.session_id
    ), cost AS (
      SELECT url, sum(responses) AS responses, sum(cost_units) AS cost_units, sum(unpriced) AS unpriced,
        sum(total_tokens) AS total_tokens
      FROM member JOIN usage USING (session_id) GROUP BY url
    )
    SELECT NULL AS url, NULL AS repository, NULL::float8 AS number, NULL::float8 AS first_ms, NULL::float8 AS last_ms,
      (SELECT count(DISTINCT session_id)::float8 FROM link) AS sessions,
      coalesce(sum(responses), 0)::float8 AS responses, coalesce(sum(total_tokens), 0)::float8 AS total_tokens,
      coalesce(sum(cost_units), 0)::float8 AS cost_units, coalesce(sum(unpriced), 0)::float8 AS unpriced,
      (SELECT count(DISTINCT url)::float8 FROM link) AS pull_requests,
      (
        SELECT count(DISTINCT url)::float8 FROM link LEFT JOIN cost USING (url)
        WHERE cost.responses > cost.unpriced OR coalesce(cost.responses, 0) = 0
      ) AS priced_pull_requests
    FROM usage
    UNION ALL (
      SELECT url, max(repository), max(number), extract(epoch FROM min(first_linked))::float8 * 1000,
        extract(epoch FROM max(last_linked))::float8 * 1000 AS last_ms, count(*)::float8,
        coalesce(max(responses), 0)::float8, coalesce(max(total_tokens), 0)::float8,
        coalesce(max(cost_units), 0)::float8, coalesce(max(unpriced), 0)::float8, 1, 1
      FROM link LEFT JOIN cost USING (url)
      GROUP BY url ORDER BY last_ms DESC NULLS LAST, url LIMIT ${limit + 1}
    )`);
  const [total, ...pullRequests] = rows;
  if (total === undefined) throw new Error('An aggregate without a row');
  const { pull_requests, priced_pull_requests: priced } = total;
  return {
    rows: pullRequests.slice(0, limit).map((row) => ({
      url: row.url ?? '',
      repository: row.repository,
      number: row.number,
      first_linked: toIso(row.first_ms),
      last_linked: toIso(row.last_ms),
      ...toFigures(row),
    })),
    totals: {
      pull_requests,
      mean_cost_usd: priced === 0 ? null : toUsd(Math.round(total.cost_units / priced)),
      ...toFigures(total),
    },
    truncated: pullRequests.length > limit,
  };
}

const toFigures = ({ sessions, responses, total_tokens, cost_units, unpriced }: Row): PullRequestFigures => ({
  sessions,
  responses,
  total_tokens,
  cost_usd: toKnownCost(cost_units, { responses, unpriced }),
  unpriced_responses: unpriced,
});
