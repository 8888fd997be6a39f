import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import { SESSION_SOURCE, SESSION_TITLE } from './read-sessions-report.ts';
import type { ReportFilter } from './report-filter.ts';
import { type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import { COST_UNITS_PER_USD, toUsd } from './usage-figures.ts';

export interface ReconciliationFigures {
  /** The agent's own last total. */
  reported_cost_usd: number;
  /** Ours: of the session and of its sub-agents. */
  computed_cost_usd: number;
  subagent_cost_usd: number;
  /** Computed minus reported. */
  difference_usd: number;
  difference_ratio: number | null;
  unfinalised_responses: number;
  unpriced_responses: number;
}

type SessionKeys = {
  session_id: string;
  title: string | null;
  project: string | null;
  /** ISO 8601. */
  first_timestamp: string | null;
};
type Sums = Record<
  'reported_units' | 'own_units' | 'subagent_units' | 'unfinalised' | 'unpriced' | 'close_sessions',
  number
>;

const units = (column: string) => sql.raw(`(${column} * ${COST_UNITS_PER_USD})::bigint`);
const sum = (name: string) => sql`coalesce(sum(${sql.identifier(name)}), 0)::float8`;

/** Sessions whose transcript holds the agent's own total, beside ours: the largest difference first. */
export async function readReconciliationReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'>,
): Promise<
  ReportRows<
    ReconciliationFigures & SessionKeys,
    ReconciliationFigures & { sessions: number; sessions_within_one_percent: number }
  >
> {
  const { rows, totals, truncated, groupCount } = await readGroups<
    Sums,
    ReconciliationFigures & { sessions_within_one_percent: number },
    SessionKeys
  >(database, filter, page, {
    parts: [
      {
        source: SESSION_SOURCE,
        table: sql`recount.sessions AS f
          LEFT JOIN LATERAL (
            SELECT coalesce(sum(c.cost_estimate_usd), 0) AS cost_usd, coalesce(sum(c.unfinalised_count), 0) AS unfinalised,
              coalesce(sum(c.unpriced_count), 0) AS unpriced
            FROM recount.sessions AS c
            WHERE c.workspace_id = f.workspace_id AND c.parent_session_id = f.session_id
          ) AS child ON true`,
        keys: {
          session_id: sql`f.session_id`,
          title: SESSION_TITLE,
          project: sql`f.project`,
          first_timestamp: sql.raw(`to_char(f.first_timestamp AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`),
        },
        columns: {
          reported_units: units('f.reported_cost_usd'),
          own_units: units('f.cost_estimate_usd'),
          subagent_units: units('child.cost_usd'),
          unfinalised: sql`f.unfinalised_count + child.unfinalised`,
          unpriced: sql`f.unpriced_count + child.unpriced`,
          is_close: sql`abs(f.cost_estimate_usd + child.cost_usd - f.reported_cost_usd) <= 0.01 * f.reported_cost_usd`,
        },
        where: sql`f.reported_cost_usd IS NOT NULL`,
      },
    ],
    aggregates: {
      reported_units: sum('reported_units'),
      own_units: sum('own_units'),
      subagent_units: sum('subagent_units'),
      unfinalised: sum('unfinalised'),
      unpriced: sum('unpriced'),
      close_sessions: sql`(count(*) FILTER (WHERE is_close))::float8`,
    },
    order: sql`abs(g.own_units + g.subagent_units - g.reported_units) DESC`,
    toFigures: (sums) => {
      const computed = sums.own_units + sums.subagent_units;
      const difference = computed - sums.reported_units;
      return {
        reported_cost_usd: toUsd(sums.reported_units),
        computed_cost_usd: toUsd(computed),
        subagent_cost_usd: toUsd(sums.subagent_units),
        difference_usd: toUsd(difference),
        difference_ratio: sums.reported_units === 0 ? null : difference / sums.reported_units,
        unfinalised_responses: sums.unfinalised,
        unpriced_responses: sums.unpriced,
        sessions_within_one_percent: sums.close_sessions,
      };
    },
  });
  return { rows, totals: { sessions: groupCount, ...totals }, truncated };
}
