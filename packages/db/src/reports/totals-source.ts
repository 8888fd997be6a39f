import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { ROLLUPS, type RollupName, toTotalUnit } from '../usage/rollups-schema.ts';
import { listStaleDays, toDay, toDays } from '../usage/stale-days.ts';
import { findPartedDays, toLocalTime } from './report-calendar.ts';
import type { ReportFilter } from './report-filter.ts';
import { isTimeKey, type ReportKey, type ReportScope, type SessionDays, type TotalUnit } from './report-keys.ts';
import { fromRollup, type ScopedTable, type TableSource } from './rollup-source.ts';

const UNIT_MS = { hour: 60 * 60_000, day: 24 * 60 * 60_000 } as const satisfies Record<TotalUnit, number>;

/** If more days than this must be read from the sessions' rows, a report reads all of these rows: looking days up takes as long. */
const MAX_SESSION_DAYS = 200;

/** Keys that totals have. They have no sessions, and so nothing that a session tells. */
const TOTAL_KEYS: ReadonlySet<ReportKey> = new Set(['hour', 'day', 'week', 'month', 'model', 'tool', 'tool_kind']);

/**
 * Finds the UTC days that a report must read from the sessions' rows instead of from totals: days on which a row of totals
 * falls into two of the report's groups or is partly outside the filter's time range, and days whose totals are stale.
 * Returns undefined if the report has keys or filters that totals do not have. Must run in the report's own snapshot.
 */
export async function findSessionDays(database: Database, scope: ReportScope): Promise<SessionDays | undefined> {
  if (!isOfWholeWorkspace(scope) || !scope.groupBy.every((key) => TOTAL_KEYS.has(key))) return undefined;
  const stale = await listStaleDays(database, scope.workspaceId, MAX_SESSION_DAYS + 1);
  const of = (unit: TotalUnit): readonly string[] | undefined => {
    const cut = listCutDays(scope, UNIT_MS[unit]);
    const days = cut === undefined ? undefined : [...stale, ...cut];
    return days === undefined || days.length > MAX_SESSION_DAYS ? undefined : days;
  };
  return { hour: of('hour'), day: of('day') };
}

const isOfWholeWorkspace = ({ agent, project, gitBranch, machine, person, sessionId }: ReportFilter): boolean =>
  [agent, project, gitBranch, machine, person, sessionId].every((value) => value === undefined);

/** Days with an hour or day that falls into two groups or is partly outside the time range. Undefined if that is unknown. */
function listCutDays({ from, to, groupBy, calendar }: ReportScope, unitMs: number): string[] | undefined {
  const edges = [from, to].flatMap((edge) =>
    edge === null || Date.parse(edge) % unitMs === 0 ? [] : [Date.parse(edge)],
  );
  const parted = findPartedDays(groupBy.filter(isTimeKey), unitMs, calendar);
  return parted && [...edges, ...parted].map((ms) => new Date(ms - modulo(ms, UNIT_MS.day)).toISOString());
}

const modulo = (value: number, divisor: number): number => ((value % divisor) + divisor) % divisor;

/**
 * The rows that `fromRollup` returns, or, if the scope allows it, sums of the whole workspace by hour or day with no
 * sessions. Stale and split days then still come from the sessions' rows.
 */
export function fromTotals(name: RollupName, alias: string): TableSource {
  const { totals, keys, sums, lists } = ROLLUPS[name];
  if (totals === undefined) throw new TypeError(`There are no totals of ${name}`);
  const fromAll = fromRollup(name, alias);
  const fromStale = fromRollup(name, `stale_${alias}`);
  const columns = sql.raw(
    [
      ...keys.map((key) => (totals.keys.includes(key) ? `t.${key}` : `NULL::text AS ${key}`)),
      ...[...sums, ...lists].map((column) => `t.${column}`),
    ].join(', '),
  );
  return (scope): ScopedTable => {
    const { workspaceId, from, to, calendar, sessionDays } = scope;
    const days = sessionDays?.[toTotalUnit(ROLLUPS[name])];
    if (days === undefined) return fromAll(scope);
    const conditions: SQL[] = [sql`t.workspace_id = ${workspaceId}`];
    if (from !== null) conditions.push(sql`t.first_bucket_start >= ${from}::timestamptz`);
    if (to !== null) conditions.push(sql`t.first_bucket_start < ${to}::timestamptz`);
    if (days.length > 0) conditions.push(sql`${toDay('t.first_bucket_start')} <> ALL(${toDays(days)})`);
    const local = calendar && sql`, ${toLocalTime(sql`t.first_bucket_start`, calendar)} AS local_time`;
    const { table, query } = fromStale({ ...scope, onlyDays: days });
    return {
      table: sql`(
        SELECT t.workspace_id, NULL::text AS session_id, t.first_bucket_start AS bucket_start, t.last_bucket_start, ${columns} ${local ?? sql``}
        FROM ${totals.table} AS t WHERE ${sql.join(conditions, sql` AND `)}
        UNION ALL SELECT * FROM ${table}
      ) AS ${sql.raw(alias)}`,
      ...(query !== undefined && { query }),
      hasTotals: true,
    };
  };
}
