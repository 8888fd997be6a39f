import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import { type ReportFilter, toReportSource } from './report-filter.ts';
import { type GroupPart, type GroupValues, type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import { TOOL_CALL_SOURCE } from './tool-call-figures.ts';
import {
  LEDGER_SUMS,
  NO_USAGE,
  sumUsage,
  toUsageFigures,
  toUsd,
  type UsageFigures,
  type UsageSums,
} from './usage-figures.ts';

export interface SubagentFigures extends UsageFigures {
  calls: number;
  errors: number;
  denied: number;
  /** Sessions that started one. */
  parents: number;
  /** Sub-agents that made a response. */
  subagents: number;
  mean_cost_usd: number | null;
}

type SubagentKeys = { subagent_type: string | null };
type Sums = UsageSums & Record<'calls' | 'errors' | 'denied' | 'parents' | 'subagents', number>;

const CALLS: GroupPart = {
  source: TOOL_CALL_SOURCE,
  table: sql`recount.tool_calls AS c`,
  keys: { subagent_type: sql`c.subagent_type` },
  groupedColumns: ['parent', 'subagent'],
  columns: {
    parent: sql`c.session_id`,
    subagent: sql`NULL::text`,
    calls: sql`count(*)`,
    errors: sql`count(*) FILTER (WHERE c.is_error)`,
    denied: sql`count(*) FILTER (WHERE c.is_denied)`,
    ...NO_USAGE,
  },
  where: sql`c.is_own AND c.tool_name IN ('Task', 'Agent')`,
};

/** The session that a response's sub-agent works for: its own session's parent, or the session that holds it inline. */
const PARENT = sql.raw(`coalesce(child.parent_session_id, l.session_id)`);
const RESPONSE_SOURCE = {
  ...toReportSource('l', { time: 'timestamp', own: ['model', 'git_branch', 'agent_version'] }),
  sessionId: PARENT,
};

/** The calls tell which type the sub-agent of an id is; an id is one's only within its parent. */
const toUsagePart = (workspaceId: string): GroupPart => ({
  source: RESPONSE_SOURCE,
  table: sql`recount.usage_ledger AS l
    LEFT JOIN recount.sessions AS child ON child.workspace_id = l.workspace_id AND child.session_id = l.session_id
    LEFT JOIN (
      SELECT session_id, subagent_id, min(subagent_type) AS subagent_type FROM recount.tool_calls
      WHERE workspace_id = ${workspaceId} AND subagent_id IS NOT NULL GROUP BY session_id, subagent_id
    ) AS kind ON kind.session_id = ${PARENT} AND kind.subagent_id = l.agent_id`,
  keys: { subagent_type: sql`kind.subagent_type` },
  groupedColumns: ['parent', 'subagent'],
  columns: {
    parent: PARENT,
    subagent: sql`l.agent_id`,
    calls: sql`NULL::bigint`,
    errors: sql`NULL::bigint`,
    denied: sql`NULL::bigint`,
    ...LEDGER_SUMS,
  },
  where: sql`l.is_subagent`,
});

/** Sub-agents by type, with what they used. Filters and keys but model and branch of responses are about the parent. */
export async function readSubagentsReport(
  database: Database,
  filter: ReportFilter,
  page: ReportPage,
): Promise<ReportRows<SubagentFigures & SubagentKeys & GroupValues, SubagentFigures>> {
  return await readGroups<Sums, SubagentFigures, SubagentKeys>(database, { ...filter, subagents: 'include' }, page, {
    parts: [CALLS, toUsagePart(filter.workspaceId)],
    aggregates: {
      calls: sql`coalesce(sum(calls), 0)::float8`,
      errors: sql`coalesce(sum(errors), 0)::float8`,
      denied: sql`coalesce(sum(denied), 0)::float8`,
      parents: sql`(count(DISTINCT parent) FILTER (WHERE calls IS NOT NULL))::float8`,
      subagents: sql`(count(DISTINCT (parent, subagent)) FILTER (WHERE subagent IS NOT NULL))::float8`,
      ...sumUsage(),
    },
    order: sql`cost_units DESC, calls DESC`,
    toFigures: (sums) => ({
      calls: sums.calls,
      errors: sums.errors,
      denied: sums.denied,
      parents: sums.parents,
      subagents: sums.subagents,
      mean_cost_usd: sums.subagents === 0 ? null : toUsd(Math.round(sums.cost_units / sums.subagents)),
      ...toUsageFigures(sums),
    }),
  });
}
