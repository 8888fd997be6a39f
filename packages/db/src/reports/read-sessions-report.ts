import type { ReportBody, ReportTotals } from '@recount/contract';
import { MAX_ACTIVE_GAP_MS, toKnownCost, toSessionTitle } from '@recount/core';
import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { lastActivity } from '../schema/transcripts.ts';
import { sumOfTokens } from '../schema/usage-columns.ts';
import { selectTitleSources, type TitledRow } from '../transcripts/title-sources.ts';
import { type GroupPart, toColumns } from './group-part.ts';
import { readUsageReport } from './read-usage-report.ts';
import { toLocalTime } from './report-calendar.ts';
import { type GroupValues, type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import { isShort, joinSessions, type ReportSource, toConditions, toReportSource } from './report-source.ts';

type Distribution = NonNullable<SessionFigures['distribution']['cost_usd']>;

const DISTRIBUTED = ['total_tokens', 'cost_usd', 'duration_ms', 'active_ms'] as const;

type SessionFigures = ReportTotals<'sessions'>;

type ExpensiveSession = ReportBody<'sessions'>['most_expensive'][number];

export interface SessionsPage extends ReportPage {
  /**
   * Longer pauses between messages do not count as active time. If it differs from MAX_ACTIVE_GAP_MS, every message is
   * read.
   */
  idleThresholdMs: number;
}

type Distributions = Record<`${(typeof DISTRIBUTED)[number]}_percentiles`, [number, number, number] | null> &
  Record<`${(typeof DISTRIBUTED)[number]}_${'max' | 'mean'}`, number | null>;
type Sums = Omit<SessionFigures, 'distribution' | 'own_cost_usd'> &
  Distributions &
  Record<'responses' | 'own_cost_units' | 'own_responses', number>;

export const SESSION_SOURCE: ReportSource = {
  ...toReportSource('f', { time: 'first_timestamp' }),
  indexedTime: lastActivity(sql`f.first_timestamp`),
};
const TOTAL_TOKENS = sql.raw(sumOfTokens('f'));

function toActiveTime(workspaceId: string, idleThresholdMs: number): SQL {
  if (idleThresholdMs === MAX_ACTIVE_GAP_MS) return sql`f.active_ms`;
  return sql`(
    SELECT coalesce(sum(gap_ms) FILTER (WHERE gap_ms <= ${idleThresholdMs}::int), 0)::bigint FROM (
      SELECT extract(epoch FROM m."timestamp" - lag(m."timestamp") OVER (ORDER BY m."timestamp")) * 1000 AS gap_ms
      FROM recount.transcripts AS t
      JOIN recount.transcript_messages AS m ON m.row_set_id = t.row_set_id
      WHERE t.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND m.workspace_id = ${opaqueWorkspaceId(workspaceId)}
        AND t.id = f.primary_transcript_id AND m."timestamp" IS NOT NULL
    ) AS gap)`;
}

const OWN_USAGE = {
  own_cost_units: sql`sum(u.cost_units)`,
  own_responses: sql`sum(u.responses)`,
  own_unpriced_responses: sql`sum(u.unpriced_responses)`,
};

/**
 * Sessions with their own usage. Of a short time, the usage of each session is looked up; of a long one, all is read
 * once.
 */
function toParts(filter: ReportFilter, activeTime: SQL): readonly [GroupPart, ...GroupPart[]] {
  if (!isShort(filter)) return [toSessions(sql`recount.sessions AS f`, activeTime, 'NULL::bigint'), toOwnUsage(filter)];
  const table = sql`recount.sessions AS f CROSS JOIN LATERAL (
    SELECT ${toColumns(Object.entries(OWN_USAGE))} FROM recount.usage_day_rollup AS u
    WHERE u.workspace_id = ${opaqueWorkspaceId(filter.workspaceId)} AND u.session_id = f.session_id AND NOT u.is_shared
    OFFSET 0
  ) AS own`;
  return [toSessions(table, activeTime)];
}

const toSessions = (table: SQL, activeTime: SQL, ownUsage?: string): GroupPart => ({
  source: SESSION_SOURCE,
  table,
  columns: {
    prompts: sql`f.prompt_count`,
    turns: sql`f.turn_count`,
    messages: sql`f.total_messages`,
    tool_uses: sql`f.tool_use_count`,
    total_tokens: TOTAL_TOKENS,
    cost_usd: sql`f.cost_estimate_usd`,
    duration_ms: sql`f.duration_ms`,
    active_ms: activeTime,
    responses: sql`f.api_response_count`,
    unpriced_responses: sql`f.unpriced_count`,
    ...Object.fromEntries(Object.keys(OWN_USAGE).map((name) => [name, sql.raw(ownUsage ?? `own.${name}`)])),
  },
});

/** Converts the start of each session once (OFFSET 0), not of each row of its usage. */
const toOwnUsage = ({ workspaceId }: ReportFilter): GroupPart => ({
  source: { ...SESSION_SOURCE, localTime: sql`f.local_time` },
  table: ({ calendar }) => ({
    table: sql`recount.usage_day_rollup AS u JOIN (
      SELECT workspace_id, session_id, is_subagent, first_timestamp
        ${calendar === undefined ? sql`` : sql`, ${toLocalTime(sql`first_timestamp`, calendar)} AS local_time`}
      FROM recount.sessions WHERE workspace_id = ${workspaceId} OFFSET 0
    ) AS f ON f.session_id = u.session_id`,
  }),
  where: sql`u.workspace_id = ${workspaceId} AND NOT u.is_shared`,
  groupedColumns: [],
  columns: OWN_USAGE,
});

const sum = (name: string): SQL => sql`coalesce(sum(${sql.identifier(name)}), 0)::float8`;

const DISTRIBUTION_AGGREGATES = Object.fromEntries(
  DISTRIBUTED.flatMap((name): [string, SQL][] => [
    [
      `${name}_percentiles`,
      // Numerics, which costs are, take longer to sort; their order is the same.
      sql`percentile_disc(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY ${sql.identifier(name)}::float8)`,
    ],
    [`${name}_max`, sql`max(${sql.identifier(name)})::float8`],
    [`${name}_mean`, sql`avg(${sql.identifier(name)})::float8`],
  ]),
) as Record<keyof Distributions, SQL>;

/** Sessions by their start, with figures of the whole of each. */
export async function readSessionsReport(
  database: Database,
  filter: ReportFilter,
  page: SessionsPage,
): Promise<ReportRows<SessionFigures & GroupValues, SessionFigures>> {
  return await readGroups<Sums, SessionFigures>(database, filter, page, {
    parts: toParts(filter, toActiveTime(filter.workspaceId, page.idleThresholdMs)),
    aggregates: {
      // Rows of own usage have no prompts.
      sessions: sql`count(prompts)::float8`,
      prompts: sum('prompts'),
      turns: sum('turns'),
      messages: sum('messages'),
      tool_uses: sum('tool_uses'),
      duration_ms: sum('duration_ms'),
      active_ms: sum('active_ms'),
      cost_usd: sql`sum(cost_usd)::float8`,
      unpriced_sessions: sql`(count(prompts) - count(cost_usd))::float8`,
      responses: sum('responses'),
      unpriced_responses: sum('unpriced_responses'),
      own_cost_units: sum('own_cost_units'),
      own_responses: sum('own_responses'),
      own_unpriced_responses: sum('own_unpriced_responses'),
      ...DISTRIBUTION_AGGREGATES,
    },
    order: sql`cost_usd DESC NULLS LAST, sessions DESC`,
    toFigures: (sums) => ({
      sessions: sums.sessions,
      prompts: sums.prompts,
      turns: sums.turns,
      messages: sums.messages,
      tool_uses: sums.tool_uses,
      duration_ms: sums.duration_ms,
      active_ms: sums.active_ms,
      cost_usd: sums.cost_usd ?? (sums.sessions === 0 ? 0 : null),
      unpriced_responses: sums.unpriced_responses,
      unpriced_sessions: sums.unpriced_sessions,
      own_cost_usd: toKnownCost(sums.own_cost_units, {
        responses: sums.own_responses,
        unpriced: sums.own_unpriced_responses,
      }),
      own_unpriced_responses: sums.own_unpriced_responses,
      distribution: {
        total_tokens: toDistribution(sums, 'total_tokens'),
        cost_usd: toDistribution(sums, 'cost_usd'),
        duration_ms: toDistribution(sums, 'duration_ms'),
        active_ms: toDistribution(sums, 'active_ms'),
      },
    }),
  });
}

function toDistribution(sums: Distributions, name: (typeof DISTRIBUTED)[number]): Distribution | null {
  const percentiles = sums[`${name}_percentiles`];
  const max = sums[`${name}_max`];
  const mean = sums[`${name}_mean`];
  if (percentiles === null || max === null || mean === null) return null;
  const [p50, p90, p99] = percentiles;
  return { p50, p90, p99, max, mean };
}

/** The most expensive sessions, as a whole. */
export async function listExpensiveSessions(
  database: Database,
  filter: ReportFilter,
  { idleThresholdMs, top }: Pick<SessionsPage, 'idleThresholdMs'> & { top: number },
): Promise<ExpensiveSession[]> {
  const cost = (condition: SQL) => sql`(
    SELECT CASE WHEN count(*) = 0 THEN 0 WHEN sum(u.responses) > sum(u.unpriced_responses) THEN sum(u.cost_units) / 1e10 END
    FROM recount.usage_day_rollup AS u
    WHERE u.workspace_id = ${opaqueWorkspaceId(filter.workspaceId)} AND u.session_id = f.session_id AND ${condition})::float8`;
  const { rows } = await database.execute<
    ExpensiveSession & TitledRow & { first_ms: number | null } & Record<string, unknown>
  >(sql`
    SELECT f.session_id, ${selectTitleSources(filter.workspaceId)} AS title_sources, f.project, f.git_branch, f.agent, f.is_subagent,
      extract(epoch FROM f.first_timestamp)::float8 * 1000 AS first_ms, f.duration_ms::float8 AS duration_ms,
      ${toActiveTime(filter.workspaceId, idleThresholdMs)}::float8 AS active_ms, f.prompt_count AS prompts,
      (${TOTAL_TOKENS})::float8 AS total_tokens, f.cost_estimate_usd::float8 AS cost_usd,
      ${cost(sql`NOT u.is_shared`)} AS own_cost_usd, ${cost(sql`u.is_shared`)} AS shared_cost_usd,
      f.unpriced_count AS unpriced_responses
    FROM recount.sessions AS f ${joinSessions(SESSION_SOURCE, filter)}
    WHERE ${toConditions(filter, SESSION_SOURCE)}
    ORDER BY f.cost_estimate_usd DESC NULLS LAST, f.session_id LIMIT ${top}`);
  return rows.map(({ first_ms, title_sources, ...row }) => ({
    ...row,
    title: toSessionTitle(title_sources),
    first_timestamp: first_ms === null ? null : new Date(first_ms).toISOString(),
  }));
}

/** `ownCost` is own cost of the sessions that pass the filter. */
export async function compareSessionsWithUsage(
  database: Database,
  filter: ReportFilter,
  ownCost: number | null,
): Promise<ReportBody<'sessions'>['usage']> {
  const { totals } = await readUsageReport(database, { ...filter, subagents: 'include' }, { limit: 1 });
  const others = { exclude: 'only', only: 'exclude', include: undefined } as const;
  const subagents = others[filter.subagents];
  const page = { limit: 1, idleThresholdMs: MAX_ACTIVE_GAP_MS };
  const leftOut =
    subagents === undefined
      ? 0
      : (await readSessionsReport(database, { ...filter, subagents }, page)).totals.own_cost_usd;
  const cost = totals.own.cost_usd;
  const isKnown = cost !== null && ownCost !== null && leftOut !== null;
  return {
    cost_usd: cost,
    left_out_cost_usd: leftOut,
    // Costs are exact to 1e-10.
    beyond_filters_cost_usd: isKnown ? Number((cost - ownCost - leftOut).toFixed(10)) : null,
  };
}
