import type { ReportBody, ReportRow, ReportTotals } from '@recount/contract';
import { toUsageFigures, toUsd, type UsageSums } from '@recount/core';
import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { type GroupPart, withSessions } from './group-part.ts';
import { USAGE_SOURCE, USAGE_TABLE } from './read-usage-report.ts';
import { type ReportPage, readGroups } from './report-groups.ts';
import { isShort, lookUpIfShort } from './report-source.ts';
import { ROLLED_UP_CALLS, toRollupSums, toSum } from './tool-call-figures.ts';
import { NO_USAGE, ROLLUP_SUMS, sumUsage } from './usage-figures.ts';

type SubagentFigures = ReportTotals<'subagents'> & Pick<ReportRow<'subagents'>, 'mean_cost_usd'>;

type SubagentKeys = { subagent_type: string | null };
type Sums = UsageSums & Record<'calls' | 'errors' | 'denied' | 'sessions' | 'subagents' | 'priced_subagents', number>;

const CALLS: GroupPart = {
  ...ROLLED_UP_CALLS,
  keys: { subagent_type: sql`r.subagent_type` },
  columns: {
    ...toRollupSums(['calls', 'errors', 'denied']),
    parent: sql`NULL::text`,
    subagent: sql`NULL::text`,
    ...NO_USAGE,
  },
  where: sql`r.tool_kind = 'agent'`,
};

/** The parent of a response's sub-agent (its own session's parent, or the session that contains it inline). */
const PARENT = sql.raw(`coalesce(child.parent_session_id, u.session_id)`);

/** Calls state a sub-agent's type by its id, which is unique only within its parent. */
const joinKinds = ({ workspaceId }: ReportFilter): SQL => sql`
  LEFT JOIN (
    SELECT session_id, subagent_id, min(subagent_type) AS subagent_type FROM recount.tool_calls
    WHERE workspace_id = ${workspaceId} AND subagent_id IS NOT NULL GROUP BY session_id, subagent_id
  ) AS kind ON kind.session_id = ${PARENT} AND kind.subagent_id = u.agent_id`;

/** The same for the sub-agents of a short time. */
const lookUpKind = ({ workspaceId }: ReportFilter): SQL => sql`
  CROSS JOIN LATERAL (
    SELECT min(subagent_type) AS subagent_type FROM recount.tool_calls
    WHERE workspace_id = ${workspaceId} AND session_id = ${PARENT} AND subagent_id = u.agent_id
  ) AS kind`;

const USAGE: GroupPart = {
  source: { ...USAGE_SOURCE, sessionId: PARENT },
  table: (scope) => {
    const { table, query } = USAGE_TABLE(withSessions(scope));
    return {
      table: sql`${table}
        LEFT JOIN LATERAL (
          SELECT parent_session_id FROM recount.sessions
          WHERE workspace_id = ${scope.workspaceId} AND session_id = u.session_id AND parent_session_id IS NOT NULL
          ${lookUpIfShort(scope)}
        ) AS child ON true ${isShort(scope) ? lookUpKind(scope) : joinKinds(scope)}`,
      ...(query !== undefined && { query }),
    };
  },
  keys: { subagent_type: sql`kind.subagent_type` },
  groupedColumns: ['parent', 'subagent'],
  columns: {
    parent: PARENT,
    subagent: sql`u.agent_id`,
    calls: sql`NULL::bigint`,
    errors: sql`NULL::bigint`,
    denied: sql`NULL::bigint`,
    ...ROLLUP_SUMS,
  },
  where: sql`u.is_subagent AND NOT u.is_shared`,
};

/** Sub-agents by type, with their usage. Filters and keys concern the parent, except model and branch of responses. */
export async function readSubagentsReport(
  database: Database,
  filter: ReportFilter,
  page: ReportPage,
): Promise<ReportBody<'subagents'>> {
  // A sub-agent has one type, and so one row without further keys.
  const count = page.groupBy?.length ? sql`count(DISTINCT (parent, subagent))` : sql`count(*)`;
  return await readGroups<Sums, SubagentFigures, SubagentKeys>(database, { ...filter, subagents: 'include' }, page, {
    parts: [CALLS, USAGE],
    countsSessions: true,
    aggregates: {
      calls: toSum('calls'),
      errors: toSum('errors'),
      denied: toSum('denied'),
      subagents: sql`(${count} FILTER (WHERE subagent IS NOT NULL))::float8`,
      priced_subagents: sql`(${count} FILTER (WHERE subagent IS NOT NULL AND responses > unpriced_responses))::float8`,
      ...sumUsage(),
    },
    order: sql`cost_units DESC, calls DESC`,
    toFigures: (sums) => ({
      calls: sums.calls,
      errors: sums.errors,
      denied: sums.denied,
      parents: sums.sessions,
      subagents: sums.subagents,
      mean_cost_usd: sums.priced_subagents === 0 ? null : toUsd(Math.round(sums.cost_units / sums.priced_subagents)),
      ...toUsageFigures(sums),
    }),
  });
}
