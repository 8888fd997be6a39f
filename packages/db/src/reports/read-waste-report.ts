import type { ReportBody, ReportTotals } from '@recount/contract';
import { WASTE_KINDS, type WasteKind } from '@recount/contract/choices';
import { COST_UNITS_PER_USD, createLocalClock, type LocalClock, toUsd } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { joinPeople, PEOPLE_KEYS, toPeopleKey } from '../filters/attributed-to.ts';
import type { ReportFilter } from '../filters/report-filter.ts';
import { type DismissedSubjects, isDismissed, readDismissedSubjects } from '../findings/finding-decisions.ts';
import { FINDING_QUERIES } from './finding-kinds.ts';
import { isDayKey, toDayKeys } from './local-days.ts';
import { readUsageReport } from './read-usage-report.ts';
import type { ReportKey } from './report-keys.ts';

/** No query of these kinds has a threshold. */
const NO_THRESHOLDS = { minResultBytes: 0, minSessionCostUsd: 0, nowMs: 0 };
const MAX_GROUPS = 10_000;

type WasteKey = Extract<
  ReportKey,
  'day' | 'week' | 'month' | 'repository' | 'project' | 'agent' | 'person' | 'team' | 'cost_centre' | 'machine'
>;
type Figures = ReportTotals<'waste'>;

interface Part extends Record<string, unknown> {
  /** The 15 minutes that it is in. */
  at_ms: number | null;
  repository: string | null;
  project: string | null;
  agent: string | null;
  person: string | null;
  team: string | null;
  cost_centre: string | null;
  machine: string | null;
  findings: number;
  cost: number;
  dismissed_findings: number;
  dismissed_cost: number;
}

/** Waste by groups, beside the answer of `readUsageReport` by the same groups. */
export async function readWasteReport(
  database: Database,
  filter: ReportFilter,
  { groupBy, limit }: { groupBy: readonly WasteKey[]; limit: number },
): Promise<ReportBody<'waste'>> {
  const clock = createLocalClock(filter.timeZone);
  const dismissed = await readDismissedSubjects(database, filter.workspaceId, filter.people);
  const parts = await readWasteParts(database, filter, WASTE_KINDS, dismissed, groupBy);
  const usage = await readUsageReport(database, filter, { groupBy, limit: MAX_GROUPS });
  const toId = (values: object): string =>
    JSON.stringify(groupBy.map((key) => (values as Record<string, unknown>)[key]));
  const keyed = parts.map((part) => ({ part, values: toValues(part, groupBy, clock) }));
  const waste = Map.groupBy(keyed, ({ values }) => toId(values));
  const rows = usage.rows.map((row) => {
    const values = Object.fromEntries(groupBy.map((key) => [key, row[key]]));
    return { ...values, ...toFigures(waste.get(toId(row)) ?? [], row.own.cost_usd) };
  });
  if (!usage.truncated) {
    // Responses may be later than the beginning of their finding, and outside of the time.
    const known = new Set(usage.rows.map(toId));
    for (const [id, found] of waste)
      if (!known.has(id) && groupBy.length > 0) rows.push({ ...found[0]?.values, ...toFigures(found, 0) });
  }
  if (!groupBy.some((key) => isDayKey(key))) rows.sort((a, b) => b.waste_usd - a.waste_usd);
  return {
    rows: rows.slice(0, limit),
    totals: toFigures(keyed, usage.totals.own.cost_usd),
    truncated: usage.truncated || rows.length > limit,
  };
}

function toFigures(found: readonly { part: Part }[], costUsd: number | null): Figures {
  const sum = (figure: 'findings' | 'dismissed_findings'): number =>
    found.reduce((total, { part }) => total + part[figure], 0);
  // In units, whose sum is the same in any order.
  const sumUsd = (figure: 'cost' | 'dismissed_cost'): number =>
    toUsd(found.reduce((total, { part }) => total + Math.round(part[figure] * COST_UNITS_PER_USD), 0));
  const wasteUsd = sumUsd('cost');
  return {
    findings: sum('findings'),
    waste_usd: wasteUsd,
    cost_usd: costUsd,
    waste_share: costUsd === null || costUsd === 0 ? null : wasteUsd / costUsd,
    dismissed_findings: sum('dismissed_findings'),
    dismissed_usd: sumUsd('dismissed_cost'),
  };
}

function toValues(
  part: Part,
  groupBy: readonly WasteKey[],
  clock: LocalClock,
): Partial<Record<WasteKey, string | null>> {
  const times = toDayKeys(part.at_ms, clock);
  return Object.fromEntries(groupBy.map((key) => [key, isDayKey(key) ? times[key] : part[key]]));
}

/**
 * Each response once, in its earliest finding that is not dismissed, or else in its earliest. A cold cache whose
 * response also repeats a call is part of its cost; if only the repeat is dismissed, it is not part of what is
 * dismissed.
 */
export async function readWasteParts(
  database: Database,
  filter: ReportFilter,
  kinds: readonly WasteKind[],
  dismissed: DismissedSubjects,
  groupBy: readonly WasteKey[] = [],
): Promise<Part[]> {
  // Keys that are not asked for are not joined.
  const ofPeople = PEOPLE_KEYS.map((key) =>
    groupBy.includes(key)
      ? sql`${toPeopleKey(key, sql`part.person`, filter.people)} AS ${sql.identifier(key)}`
      : sql`NULL::text AS ${sql.identifier(key)}`,
  );
  const queries = kinds.map(
    (kind) => sql`
      SELECT x.*, ${isDismissed(dismissed, kind, filter.workspaceId)} AS is_dismissed
      FROM (${FINDING_QUERIES[kind](filter, NO_THRESHOLDS)}) AS x`,
  );
  const { rows } = await database.execute<Part>(sql`
    WITH found AS MATERIALIZED (
      SELECT f.session_id, f."timestamp", f.response_keys, f.cost, f.is_dismissed, s.agent, s.repository, s.project, s.person, s.machine
      FROM (${sql.join(queries, sql` UNION ALL `)}) AS f JOIN LATERAL (
        SELECT s.agent, s.repository, s.project, s.person, s.machine FROM recount.sessions AS s
        WHERE s.workspace_id = ${filter.workspaceId} AND s.session_id = f.session_id OFFSET 0
      ) AS s ON true
    ), repeat AS MATERIALIZED (
      SELECT DISTINCT ON (f.agent, k.response_key) f.*, k.response_key
      FROM found AS f CROSS JOIN LATERAL unnest(f.response_keys) AS k(response_key)
      ORDER BY f.agent, k.response_key, f.is_dismissed, f."timestamp", f.session_id
    ), repeat_cost AS MATERIALIZED (
      SELECT r.*, l.cost_usd, l."timestamp" AS responded_at
      FROM repeat AS r JOIN LATERAL (
        SELECT l.cost_usd, l."timestamp" FROM recount.usage_ledger AS l
        WHERE l.workspace_id = ${filter.workspaceId} AND l.agent = r.agent AND l.response_key = r.response_key OFFSET 0
      ) AS l ON true
    ), part AS (
      SELECT "timestamp", agent, repository, project, person, machine, is_dismissed, 1 AS findings,
        CASE WHEN NOT EXISTS (
          SELECT 1 FROM repeat_cost AS r
          WHERE r.session_id = f.session_id AND r.responded_at = f."timestamp" AND r.is_dismissed <= f.is_dismissed
        ) THEN f.cost END AS cost
      FROM found AS f
      UNION ALL
      SELECT "timestamp", agent, repository, project, person, machine, is_dismissed, 0,
        cost_usd - CASE WHEN r.is_dismissed THEN coalesce((
          SELECT sum(f.cost) FROM found AS f
          WHERE f.session_id = r.session_id AND f."timestamp" = r.responded_at AND NOT f.is_dismissed
        ), 0) ELSE 0 END
      FROM repeat_cost AS r
    )
    SELECT extract(epoch FROM date_bin('15 minutes', "timestamp", '2000-01-01Z'))::float8 * 1000 AS at_ms, agent, repository, project,
      machine, ${sql.join(ofPeople, sql`, `)}, coalesce(sum(findings) FILTER (WHERE NOT is_dismissed), 0)::float8 AS findings,
      coalesce(sum(cost) FILTER (WHERE NOT is_dismissed), 0)::float8 AS cost,
      coalesce(sum(findings) FILTER (WHERE is_dismissed), 0)::float8 AS dismissed_findings,
      coalesce(sum(cost) FILTER (WHERE is_dismissed), 0)::float8 AS dismissed_cost
    FROM part ${joinPeople(groupBy, { person: sql`part.person`, time: sql`"timestamp"` }, filter.people)}
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`);
  return rows;
}
