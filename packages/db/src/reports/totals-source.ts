import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { ROLLUPS, type RollupName, type Totals, type TotalsKind, toTotalUnit } from '../schema/rollup-tables.ts';
import { ATTRIBUTION } from '../schema/rollups.ts';
import { joinAttribution } from '../usage/attribution.ts';
import { listStaleDays, toDay, toDays } from '../usage/stale-days.ts';
import { findSplitDays, toLocalTime } from './report-calendar.ts';
import {
  isAttributionKey,
  isTimeKey,
  type ReportKey,
  type ReportScope,
  type SessionDays,
  type TotalUnit,
} from './report-keys.ts';
import { joinSessions } from './report-source.ts';
import { fromRollup, type ScopedTable, type TableSource } from './rollup-source.ts';

const UNIT_MS = { hour: 60 * 60_000, day: 24 * 60 * 60_000 } as const satisfies Record<TotalUnit, number>;

/**
 * If more days than this must be read from the sessions' rows, a report reads all rows, because looking days up takes
 * as long.
 */
const MAX_SESSION_DAYS = 200;

/** The same for attributed totals, which look up the session of each row of such a day. */
const MAX_ATTRIBUTED_DAYS = 50;

/** Keys that totals have, besides keys of attribution if they are attributed. */
const TOTAL_KEYS: ReadonlySet<ReportKey> = new Set(['hour', 'day', 'week', 'month', 'model', 'tool', 'tool_kind']);

/**
 * Finds the UTC days that a report must read from the sessions' rows instead of from totals. These are days where a row
 * of totals falls into two of the report's groups or is partly outside the filter's time range, and days whose totals
 * are stale. Returns undefined if the report has keys or filters that totals do not have. Must run in the report's own
 * snapshot.
 */
export async function findSessionDays(database: Database, scope: ReportScope): Promise<SessionDays | undefined> {
  const kind = chooseTotals(scope);
  if (kind === undefined) return undefined;
  const maxDays = kind === 'attributed' ? MAX_ATTRIBUTED_DAYS : MAX_SESSION_DAYS;
  const stale = await listStaleDays(database, scope.workspaceId, maxDays + 1);
  const of = (unit: TotalUnit): readonly string[] | undefined => {
    const cut = listCutDays(scope, UNIT_MS[unit]);
    const days = cut === undefined ? undefined : [...stale, ...cut];
    return days === undefined || days.length > maxDays ? undefined : days;
  };
  return { kind, hour: kind === 'attributed' ? undefined : of('hour'), day: of('day') };
}

/** The kind of totals that have all keys and filters of a report. */
function chooseTotals(scope: ReportScope): TotalsKind | undefined {
  const { agent, project, repository, gitBranch, machine, person, attributed, sessionId, kindOfWork, groupBy } = scope;
  const keys = groupBy.filter((key) => !isAttributionKey(key));
  const isOfSessions = [gitBranch, sessionId, kindOfWork].some((value) => value !== undefined);
  if (isOfSessions || !keys.every((key) => TOTAL_KEYS.has(key))) return undefined;
  const isFiltered = [agent, project, repository, machine, person, attributed].some((value) => value !== undefined);
  if (!isFiltered && keys.length === groupBy.length) return 'whole';
  // Attributed totals have no hours. The sessions of a short time are looked up anyway, to list or count them.
  return groupBy.includes('hour') || scope.listsSessions === true ? undefined : 'attributed';
}

/** Days with an hour or day that falls into two groups or is partly outside the time range. Undefined if that is unknown. */
function listCutDays({ from, to, groupBy, calendar }: ReportScope, unitMs: number): string[] | undefined {
  const edges = [from, to].flatMap((edge) =>
    edge === null || Date.parse(edge) % unitMs === 0 ? [] : [Date.parse(edge)],
  );
  const split = findSplitDays(groupBy.filter(isTimeKey), unitMs, calendar);
  return split && [...edges, ...split].map((ms) => new Date(ms - modulo(ms, UNIT_MS.day)).toISOString());
}

const modulo = (value: number, divisor: number): number => ((value % divisor) + divisor) % divisor;

const listAttribution = (alias: string): SQL => sql.raw(ATTRIBUTION.map((key) => `${alias}.${key}`).join(', '));

/**
 * The rows that `fromRollup` returns, or, if the scope allows it, sums of the whole workspace by hour or day, or by day and
 * what sessions are attributed to, with no sessions. Stale and split days then still come from the sessions' rows.
 */
export function fromTotals(name: RollupName, alias: string): TableSource {
  const { keys, sums, lists } = ROLLUPS[name];
  const fromAll = fromRollup(name, alias);
  const fromStale = fromRollup(name, `stale_${alias}`);
  const listColumns = (totals: Totals) =>
    sql.raw(
      [
        ...keys.map((key) => (totals.keys.includes(key) ? `t.${key}` : `NULL::text AS ${key}`)),
        ...[...sums, ...lists].map((column) => `t.${column}`),
      ].join(', '),
    );
  return (scope): ScopedTable => {
    const { workspaceId, from, to, calendar, sessionDays } = scope;
    const { kind = 'whole' } = sessionDays ?? {};
    const isAttributed = kind === 'attributed';
    const totals = ROLLUPS[name].totals?.[kind];
    const days = sessionDays?.[toTotalUnit(ROLLUPS[name], kind)];
    // A part may need hours for other keys than its report's.
    const needsHours = isAttributed && scope.groupBy.includes('hour');
    if (totals === undefined || days === undefined || needsHours) return fromAll(scope);
    const conditions: SQL[] = [sql`t.workspace_id = ${workspaceId}`];
    if (from !== null) conditions.push(sql`t.first_bucket_start >= ${from}::timestamptz`);
    if (to !== null) conditions.push(sql`t.first_bucket_start < ${to}::timestamptz`);
    if (days.length > 0) conditions.push(sql`${toDay('t.first_bucket_start')} <> ALL(${toDays(days)})`);
    const local = calendar && sql`, ${toLocalTime(sql`t.first_bucket_start`, calendar)} AS local_time`;
    const { table, query } = fromStale({ ...scope, onlyDays: days });
    const stale = sql.raw(`stale_${alias}`);
    // Most sessions have messages without a time. Sessions of any time are joined with all sessions.
    const withAttribution =
      from === null && to === null
        ? joinSessions({ sessionId: sql`${stale}.session_id` }, scope)
        : joinAttribution(`stale_${alias}`, workspaceId);
    const fromSessions = isAttributed
      ? sql`SELECT ${stale}.*, ${listAttribution('s')} FROM ${table} ${withAttribution}`
      : sql`SELECT * FROM ${table}`;
    return {
      table: sql`(
        SELECT t.workspace_id, NULL::text AS session_id, t.first_bucket_start AS bucket_start, t.last_bucket_start,
          ${listColumns(totals)} ${local ?? sql``} ${isAttributed ? sql`, ${listAttribution('t')}` : sql``}
        FROM ${totals.table} AS t WHERE ${sql.join(conditions, sql` AND `)}
        UNION ALL ${fromSessions}
      ) AS ${sql.raw(alias)}`,
      ...(query !== undefined && { query }),
      ...(isAttributed && { sessions: sql`CROSS JOIN LATERAL (SELECT ${listAttribution(alias)}) AS s` }),
      hasTotals: true,
    };
  };
}
