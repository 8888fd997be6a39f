import { opaqueWorkspaceId } from '../database/planner.ts';
import { type PgTable, type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { ROLLUPS, type RollupName } from '../schema/rollup-tables.ts';
import { CALLS } from '../usage/rollup-definitions.ts';
import { fromDays, toDay, toDays } from '../usage/stale-days.ts';
import { isWithinPeriod, toLocalTime } from './report-calendar.ts';
import type { ReportKey, ReportScope } from './report-keys.ts';

/** Chooses a table's rows depending on the report. */
export type TableSource = (scope: ReportScope) => ScopedTable;

export interface ScopedTable {
  /** For a FROM. */
  table: SQL;
  /** A query for the WITH clause that the table refers to. */
  query?: SQL;
  /** Rows have no sessions. */
  hasTotals?: true;
  /** In place of a join with the sessions, as `s` (the rows' own copy). */
  sessions?: SQL;
}

/** A time within one day is within one week and one month; a week may belong to two months. */
const toPeriods = (groupBy: readonly ReportKey[]): ('day' | 'week' | 'month')[] =>
  groupBy.includes('day') ? ['day'] : (['week', 'month'] as const).filter((key) => groupBy.includes(key));

/**
 * Rows of a roll-up under `alias`, with `bucket_start`, `last_bucket_start` and, if there is a calendar, the former's
 * `local_time`. There is one for each UTC day of a session that is within one local day, week or month and within the
 * filter's time, and one for each 15-minute bucket otherwise. Reports by hour use only buckets.
 */
export function fromRollup(name: RollupName, alias: string): TableSource {
  const { buckets = CALLS[name], days: dayTable, keys, sums, lists } = ROLLUPS[name];
  const columns = [...keys, ...sums, ...lists];
  const list = (table: string, names: readonly string[]) =>
    sql.raw(names.map((column) => `${table}.${column}`).join(', '));
  const as = sql.raw(alias);
  const dayColumns = sql`
    d.workspace_id, d.session_id, d.first_bucket_start AS bucket_start, d.last_bucket_start, ${list('d', columns)}`;
  const bucketColumns = sql`
    q.workspace_id, q.session_id, q.bucket_start, q.bucket_start AS last_bucket_start, ${list('q', columns)}`;
  // For the sessions `s`, one by one, because a join with days would read all buckets, and all of a session for each of
  // its days.
  const fromBuckets = ({ workspaceId, onlyDays }: ReportScope) => sql`
    FROM ${buckets} AS q
    WHERE q.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND q.session_id = s.session_id AND q.bucket_start BETWEEN s.first AND s.last
      ${onlyDays === undefined ? sql`` : sql`AND ${toDay('q.bucket_start')} = ANY(${toDays(onlyDays)})`}`;
  const selectDaysOfBuckets = (scope: ReportScope) => sql`
    SELECT q.*, min(q.bucket_start) OVER day AS first_bucket_start, max(q.bucket_start) OVER day AS last_bucket_start
    ${fromBuckets(scope)}
    WINDOW day AS (PARTITION BY date_bin('1 day', q.bucket_start, '2000-01-01Z'), ${list('q', keys)})`;
  return (scope) => {
    const { calendar, groupBy } = scope;
    const days = restrictRows(dayTable, 'first_bucket_start', scope);
    const toLocal = (time: SQL) =>
      calendar === undefined ? sql`` : sql`, ${toLocalTime(time, calendar)} AS local_time`;
    if (groupBy.includes('hour')) {
      const columnsOfHour = sql`${bucketColumns} ${toLocal(sql`q.bucket_start`)}`;
      return { table: sql`(SELECT ${columnsOfHour} FROM ${selectBuckets(name, scope)}) AS ${as}` };
    }
    const within = toDayConditions(scope);
    const span = [sql`d.first_bucket_start`, sql`d.last_bucket_start`] as const;
    const conditions = [
      ...(calendar === undefined ? [] : toPeriods(groupBy).map((period) => isWithinPeriod(period, span, calendar))),
      ...within.whole,
    ];
    if (conditions.length === 0) {
      return {
        table: sql`(SELECT ${dayColumns} FROM ${days} AS d WHERE d.workspace_id = ${scope.workspaceId}) AS ${as}`,
      };
    }
    const condition = sql`(d.first_bucket_start IS NULL OR (${sql.join(conditions, sql` AND `)}))`;
    const where = sql.join([sql`d.workspace_id = ${scope.workspaceId}`, ...within.overlapping], sql` AND `);
    // One statement may read the roll-up both for its sums and to count sessions.
    const parted = sql.raw(`parted_${scope.onlySessionsOf === undefined ? '' : 'new_'}${alias}`);
    const isCounted = scope.isCounted === true;
    const partedBuckets = isCounted
      ? sql`SELECT q.* ${fromBuckets(scope)}`
      : sql`SELECT * FROM (${selectDaysOfBuckets(scope)}) AS d WHERE ${condition} IS NOT TRUE`;
    return {
      table: sql`(
        SELECT ${dayColumns} ${toLocal(sql`d.first_bucket_start`)} FROM ${days} AS d WHERE ${where} AND ${condition}
        UNION ALL SELECT * FROM ${parted}
      ) AS ${as}`,
      // Reports read their tables more than once, and these rows are slow to find.
      query: sql`${parted} AS ${sql.raw(isCounted ? '' : 'MATERIALIZED')} (
        SELECT ${bucketColumns} ${toLocal(sql`q.bucket_start`)}
        FROM (
          SELECT d.session_id, min(d.first_bucket_start) AS first, max(d.last_bucket_start) AS last
          FROM ${days} AS d WHERE ${where} AND ${condition} IS NOT TRUE GROUP BY 1
        ) AS s CROSS JOIN LATERAL (${partedBuckets} OFFSET 0) AS q
      )`,
    };
  };
}

/** Buckets of the scope as `q`, with their condition. Roll-ups without a table of buckets have calls in place of them. */
function selectBuckets(name: RollupName, scope: ReportScope): SQL {
  const isOfWorkspace = sql`q.workspace_id = ${scope.workspaceId}`;
  const { buckets } = ROLLUPS[name];
  return buckets === undefined
    ? sql`${CALLS[name]} AS q WHERE ${isOfWorkspace} AND ${toCallConditions(scope)}`
    : sql`${restrictRows(buckets, 'bucket_start', scope)} AS q WHERE ${isOfWorkspace}`;
}

/**
 * All rows of a table, or only for the time, days or sessions of the scope, and of no known time unless the filter asks
 * for a time.
 */
function restrictRows(table: PgTable, column: string, scope: ReportScope): SQL {
  const { workspaceId, onlyDays, onlySessionsOf, until, from, to } = scope;
  const days = onlyDays ?? onlySessionsOf;
  if (days === undefined) {
    if (until === undefined) return sql`${table}`;
    const select = (condition: SQL) =>
      sql`SELECT * FROM ${table} AS t WHERE t.workspace_id = ${workspaceId} AND ${sql.raw(`t.${column}`)} ${condition}`;
    // Two ranges of an index, because with OR, everything would be read.
    return sql`(${select(sql`<= ${until}::timestamptz`)} UNION ALL ${select(sql`IS NULL`)})`;
  }
  const withoutTime = (columns: string) =>
    from !== null || to !== null
      ? sql``
      : sql`UNION ALL
          SELECT ${sql.raw(`t.${columns}`)} FROM ${table} AS t WHERE t.workspace_id = ${workspaceId} AND ${sql.raw(`t.${column}`)} IS NULL`;
  const rows = (columns: string) => sql`
    SELECT ${sql.raw(`d.${columns}`)} FROM ${fromDays(table, column, workspaceId, days)} ${withoutTime(columns)}`;
  if (onlyDays !== undefined) return sql`(${rows('*')})`;
  return sql`(
    SELECT d.* FROM (SELECT DISTINCT session_id FROM (${rows('session_id')}) AS seen) AS s CROSS JOIN LATERAL (
      SELECT * FROM ${table} WHERE workspace_id = ${opaqueWorkspaceId(workspaceId)} AND session_id = s.session_id OFFSET 0
    ) AS d
  )`;
}

/**
 * Calls within the filter's time, in a form that an index serves, including some of the last 15-minute bucket beyond
 * it.
 */
function toCallConditions({ from, to }: ReportFilter): SQL {
  const conditions = [sql`true`];
  if (from !== null) conditions.push(sql`q."timestamp" >= ${from}::timestamptz`);
  if (to !== null) conditions.push(sql`q."timestamp" < ${to}::timestamptz + interval '15 minutes'`);
  return sql.join(conditions, sql` AND `);
}

/** For days completely within the filter's time, and for days partly within it, in a form that an index serves. */
function toDayConditions({ from, to }: ReportFilter): { whole: SQL[]; overlapping: SQL[] } {
  const whole: SQL[] = [];
  const overlapping: SQL[] = [];
  if (from !== null) {
    whole.push(sql`d.first_bucket_start >= ${from}::timestamptz`);
    overlapping.push(
      sql`d.last_bucket_start >= ${from}::timestamptz`,
      sql`d.first_bucket_start > ${from}::timestamptz - interval '24 hours'`,
    );
  }
  if (to !== null) {
    whole.push(sql`d.last_bucket_start < ${to}::timestamptz`);
    overlapping.push(sql`d.first_bucket_start < ${to}::timestamptz`);
  }
  return { whole, overlapping };
}
