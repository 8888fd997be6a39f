import { type SQL, sql } from '../../drizzle.cjs';
import { ROLLUPS, type RollupName } from '../../schema/usage.ts';
import type { ReportFilter } from './report-filter.ts';
import { isTimeKey, type ReportKey, toLocalDay } from './report-keys.ts';

/** Chooses the rows of a table by what is asked for. */
export type TableSource = (filter: ReportFilter, groupBy: readonly ReportKey[]) => SQL;

/**
 * Rows of a roll-up under `alias`, with `bucket_start`, `last_bucket_start` and, for reports by day, week or month,
 * `local_day`: one for each UTC day of a session that lies within one local day and within the filter's time, and one for
 * each quarter of an hour of the others. Reports by hour have quarters alone.
 */
export function fromRollup(name: RollupName, alias: string): TableSource {
  const { quarters, days, keys, sums } = ROLLUPS[name];
  const list = (table: string, columns: readonly string[]) =>
    sql.raw(columns.map((column) => `${table}.${column}`).join(', '));
  const as = sql.raw(alias);
  const dayColumns = sql`
    d.workspace_id, d.session_id, d.first_bucket_start AS bucket_start, d.last_bucket_start, ${list('d', [...keys, ...sums])}`;
  const quarterColumns = sql`
    q.workspace_id, q.session_id, q.bucket_start, q.bucket_start AS last_bucket_start, ${list('q', [...keys, ...sums])}`;
  // Not to be merged with the days, whose few would be joined by reading all quarters.
  const fromQuarters = sql`
    CROSS JOIN LATERAL (
      SELECT * FROM ${quarters} AS q WHERE q.workspace_id = d.workspace_id AND q.session_id = d.session_id
        AND q.bucket_start BETWEEN d.first_bucket_start AND d.last_bucket_start
        AND (${list('q', keys)}) IS NOT DISTINCT FROM (${list('d', keys)}) OFFSET 0
    ) AS q`;
  return (filter, groupBy) => {
    const quarterDay = toLocalDay(sql`q.bucket_start`, filter.timeZone);
    if (groupBy.includes('hour')) {
      return sql`(SELECT ${quarterColumns}, ${quarterDay} AS local_day FROM ${quarters} AS q) AS ${as}`;
    }
    const isByDay = groupBy.some(isTimeKey);
    const within = toDayConditions(filter);
    const conditions = [...(isByDay ? [IS_IN_ONE_LOCAL_DAY] : []), ...within.whole];
    if (conditions.length === 0) return sql`(SELECT ${dayColumns} FROM ${days} AS d) AS ${as}`;
    const condition = sql`(d.first_bucket_start IS NULL OR (${sql.join(conditions, sql` AND `)}))`;
    const where = sql.join([sql`d.workspace_id = ${filter.workspaceId}`, ...within.overlapping], sql` AND `);
    const fromDays = sql`FROM ${days} AS d ${isByDay ? JOIN_LOCAL_DAYS : sql``}`;
    return sql`(
      ${isByDay ? sql`WITH utc_day AS MATERIALIZED (${selectUtcDays(sql`${days} AS d WHERE ${where}`, filter)})` : sql``}
      SELECT ${dayColumns} ${isByDay ? sql`, ${LOCAL_DAY} AS local_day` : sql``}
      ${fromDays} WHERE ${where} AND ${condition}
      UNION ALL
      SELECT ${quarterColumns} ${isByDay ? sql`, ${quarterDay}` : sql``}
      ${fromDays} ${fromQuarters} WHERE ${where} AND ${condition} IS NOT TRUE
    ) AS ${as}`;
  };
}

const UTC_DAY = sql.raw(`date_bin('24 hours', d.first_bucket_start, '2000-01-01Z')`);
const JOIN_LOCAL_DAYS = sql`LEFT JOIN utc_day ON utc_day.start = ${UTC_DAY}`;
const IS_IN_ONE_LOCAL_DAY = sql`(d.first_bucket_start >= utc_day.midnight OR d.last_bucket_start < utc_day.midnight)`;
const LOCAL_DAY = sql`utc_day.local_day + (d.first_bucket_start >= utc_day.midnight)::int`;

/**
 * The UTC days that there are, with the local day at their start, and the moment of the local midnight that ends that one;
 * null where clocks change on the day.
 */
const selectUtcDays = (days: SQL, { timeZone }: ReportFilter): SQL => sql`
  SELECT start, local_start::date AS local_day,
    CASE WHEN local_end - local_start = '24 hours' THEN start + (local_start::date + 1 - local_start) END AS midnight
  FROM (
    SELECT start, start AT TIME ZONE ${timeZone} AS local_start, (start + interval '24 hours') AT TIME ZONE ${timeZone} AS local_end
    FROM (SELECT DISTINCT ${UTC_DAY} AS start FROM ${days}) AS day
  ) AS day`;

/** For days that lie within the filter's time as a whole, and for days that have a part in it, as an index serves it. */
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
