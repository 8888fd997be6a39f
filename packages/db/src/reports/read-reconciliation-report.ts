import type { ReportBody, ReportTotals } from '@recount/contract';
import { COST_UNITS_PER_USD, toSessionTitle, toUsd } from '@recount/core';
import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { selectTitleSources, type TitledRow } from '../transcripts/title-sources.ts';
import { SESSION_SOURCE } from './read-sessions-report.ts';
import { type ReportPage, readGroups } from './report-groups.ts';

type Figures = Omit<ReportTotals<'reconciliation'>, 'sessions'>;

type SessionKeys = TitledRow & {
  session_id: string;
  project: string | null;
  /** ISO 8601. */
  first_timestamp: string | null;
};
type Sums = Record<'reported_units' | 'unfinalised' | 'unpriced' | 'close_sessions', number> &
  Record<'compared_units' | 'computed_units' | 'subagent_units', number | null>;

/**
 * The part of the session's own transcript that repeats its sub-agents' responses, which are in their transcripts too.
 */
const selectRepeated = (workspace: SQL): SQL => sql`
  SELECT coalesce(sum(e.cost_usd), 0) AS cost_usd, count(*) AS responses,
    count(*) FILTER (WHERE e.is_unfinalised) AS unfinalised,
    count(*) FILTER (WHERE e.price_basis = 'unpriced') AS unpriced
  FROM recount.transcripts AS t
  JOIN recount.usage_entries AS e ON e.workspace_id = t.workspace_id AND e.row_set_id = t.row_set_id
  WHERE t.workspace_id = ${workspace} AND t.id = f.primary_transcript_id AND e.is_subagent
    AND EXISTS (
      SELECT FROM recount.usage_day_rollup AS r
      WHERE r.workspace_id = ${workspace} AND r.session_id = f.session_id AND r.is_subagent)
    AND EXISTS (
      SELECT FROM recount.usage_entries AS copy
      JOIN recount.transcripts AS child
        ON child.workspace_id = copy.workspace_id AND child.row_set_id = copy.row_set_id AND NOT child.is_diverged
      JOIN recount.sessions AS c ON c.workspace_id = child.workspace_id AND c.session_id = child.session_id
      WHERE copy.workspace_id = ${workspace} AND copy.agent = e.agent AND copy.response_key = e.response_key
        AND c.parent_session_id = f.session_id)`;

/** Null if there are responses but none has a price. */
const units = (cost: string, responses: string, unpriced: string) =>
  sql.raw(`CASE WHEN ${responses} = 0 OR ${responses} > ${unpriced} THEN round((${cost}) * ${COST_UNITS_PER_USD}) END`);
const sumOfKnown = (name: string) => sql`sum(${sql.identifier(name)})::float8`;
const sum = (name: string) => sql`coalesce(sum(${sql.identifier(name)}), 0)::float8`;

const ALL_UNPRICED = 'f.unpriced_count + child.unpriced - repeated.unpriced';
const COMPUTED_UNITS = units(
  'coalesce(f.cost_estimate_usd, 0) + child.cost_usd - repeated.cost_usd',
  '(f.api_response_count + child.responses - repeated.responses)',
  `(${ALL_UNPRICED})`,
);

/** Sessions whose transcript has the agent's own total, compared with recount's, the largest difference first. */
export async function readReconciliationReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'>,
): Promise<ReportBody<'reconciliation'>> {
  const workspace = opaqueWorkspaceId(filter.workspaceId);
  const { rows, totals, truncated, groupCount } = await readGroups<Sums, Figures, SessionKeys>(database, filter, page, {
    parts: [
      {
        source: SESSION_SOURCE,
        table: sql`recount.sessions AS f
          LEFT JOIN LATERAL (
            SELECT coalesce(sum(c.cost_estimate_usd), 0) AS cost_usd, coalesce(sum(c.api_response_count), 0) AS responses,
              coalesce(sum(c.unfinalised_count), 0) AS unfinalised, coalesce(sum(c.unpriced_count), 0) AS unpriced
            FROM recount.sessions AS c
            WHERE c.workspace_id = ${workspace} AND c.parent_session_id = f.session_id
          ) AS child ON true
          CROSS JOIN LATERAL (${selectRepeated(workspace)}) AS repeated`,
        keys: {
          session_id: sql`f.session_id`,
          title_sources: selectTitleSources(filter.workspaceId),
          project: sql`f.project`,
          first_timestamp: sql.raw(`to_char(f.first_timestamp AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`),
        },
        columns: {
          reported_units: sql.raw(`round(f.reported_cost_usd * ${COST_UNITS_PER_USD})`),
          computed_units: COMPUTED_UNITS,
          compared_units: sql`CASE WHEN ${COMPUTED_UNITS} IS NOT NULL THEN f.reported_cost_usd * ${sql.raw(`${COST_UNITS_PER_USD}`)} END`,
          subagent_units: units(
            'child.cost_usd - repeated.cost_usd',
            '(child.responses - repeated.responses)',
            '(child.unpriced - repeated.unpriced)',
          ),
          unfinalised: sql`f.unfinalised_count + child.unfinalised - repeated.unfinalised`,
          unpriced: sql.raw(ALL_UNPRICED),
          is_close: sql`abs(${COMPUTED_UNITS} / 1e10 - f.reported_cost_usd) <= 0.01 * f.reported_cost_usd`,
        },
        where: sql`f.reported_cost_usd IS NOT NULL`,
      },
    ],
    aggregates: {
      reported_units: sum('reported_units'),
      compared_units: sumOfKnown('compared_units'),
      computed_units: sumOfKnown('computed_units'),
      subagent_units: sumOfKnown('subagent_units'),
      unfinalised: sum('unfinalised'),
      unpriced: sum('unpriced'),
      close_sessions: sql`(count(*) FILTER (WHERE is_close))::float8`,
    },
    order: sql`abs(g.computed_units - g.compared_units) DESC NULLS LAST`,
    toFigures,
  });
  return {
    rows: rows.map(({ title_sources, ...row }) => ({ ...row, title: toSessionTitle(title_sources) })),
    totals: { sessions: groupCount, ...totals },
    truncated,
  };
}

function toFigures(sums: Sums): Figures {
  const { computed_units: computed, compared_units: compared, subagent_units: ofSubagents } = sums;
  const difference = computed === null || compared === null ? null : computed - compared;
  return {
    reported_cost_usd: toUsd(sums.reported_units),
    computed_cost_usd: computed === null ? null : toUsd(computed),
    subagent_cost_usd: ofSubagents === null ? null : toUsd(ofSubagents),
    difference_usd: difference === null ? null : toUsd(difference),
    difference_ratio: difference === null || !compared ? null : difference / compared,
    unfinalised_responses: sums.unfinalised,
    unpriced_responses: sums.unpriced,
    sessions_within_one_percent: sums.close_sessions,
  };
}
