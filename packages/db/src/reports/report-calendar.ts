import { type ClockOffset, createLocalClock, type LocalClock, type SessionEventKind } from '@recount/core';
import type { Database } from '../database/database.ts';
import { type PgTable, type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { ROLLUPS } from '../schema/rollup-tables.ts';
import { lastActivity, sessions } from '../schema/transcripts.ts';
import { sessionEvents } from '../schema/usage.ts';
import type { TimeColumn } from './report-source.ts';

/**
 * A time zone's clocks while a workspace has rows, by Node's rules: `recount usage` has the same, and PostgreSQL's may be of
 * another year.
 */
export interface ReportCalendar {
  /** Spans with one offset to UTC, in order; the first one has no beginning. */
  offsets: readonly ClockOffset[];
  /** Undefined if rows span too many years. */
  days?: KnownDays;
}

interface KnownDays {
  /** First days of the local months, `YYYY-MM-DD`, in order. */
  months: readonly string[];
  /** Beginnings of the UTC days, milliseconds since 1970, that may have rows. */
  daysMs: readonly number[];
}

/** Transcripts may contain any year, and an expression with all changes of the clocks would be too long. */
const MAX_YEARS = 12;

/** Kinds of events that are reported by time. */
const TIMED_KINDS = ['api_error', 'api_retry', 'compaction'] as const satisfies readonly SessionEventKind[];

/** Reads the years of a column's rows within the filter's time, and looks up the clocks in these years. */
export async function readCalendar(
  database: Database,
  { workspaceId, timeZone, from, to }: ReportFilter,
  column: TimeColumn,
): Promise<ReportCalendar> {
  const selectEdge = (edge: Edge, first: SQL, end: SQL) => EDGES[column](edge, workspaceId, first, end);
  const start = sql`coalesce(${from}::timestamptz - interval '24 hours', '-infinity')`;
  const end = sql`coalesce(${to}::timestamptz, 'infinity')`;
  const nextYear = sql`(date_trunc('year', year.first, 'UTC') AT TIME ZONE 'UTC' + interval '1 year') AT TIME ZONE 'UTC'`;
  const { rows } = await database.execute<{ years: { first: number; last: number }[] | null }>(sql`
    WITH RECURSIVE year AS (
      SELECT ${selectEdge('first', start, end)} AS first, 1 AS number
      UNION ALL
      SELECT ${selectEdge('first', nextYear, end)}, number + 1
      FROM year WHERE number <= ${MAX_YEARS} AND year.first IS NOT NULL
    )
    SELECT json_agg(json_build_object(
      'first', extract(epoch FROM first) * 1000,
      'last', extract(epoch FROM ${selectEdge('last', start, end)}) * 1000) ORDER BY first) AS years
    FROM year WHERE first IS NOT NULL`);
  const years = rows[0]?.years ?? [];
  return toCalendar(
    years.map(({ first }) => first),
    years[0]?.last ?? 0,
    createLocalClock(timeZone),
  );
}

type Edge = 'first' | 'last';
type SelectEdge = (edge: Edge, workspaceId: string, start: SQL, end: SQL) => SQL;

/** The first or last time of a table's rows between two moments, from an index. */
const selectEdgeOf =
  (table: PgTable, time: SQL, condition = sql`true`): SelectEdge =>
  (edge, workspaceId, start, end) =>
    sql`(
    SELECT ${sql.raw(edge === 'first' ? 'min' : 'max')}(${time}) FROM ${table} AS r
    WHERE r.workspace_id = ${workspaceId} AND ${condition} AND ${time} >= ${start} AND ${time} < ${end})`;

const selectEdgeOfAll =
  (edges: readonly SelectEdge[]): SelectEdge =>
  (edge, ...span) =>
    sql`${sql.raw(edge === 'first' ? 'least' : 'greatest')}(${sql.join(
      edges.map((select) => select(edge, ...span)),
      sql`, `,
    )})`;

const BEGAN = lastActivity(sql`r.first_timestamp`);

const EDGES: Readonly<Record<TimeColumn, SelectEdge>> = {
  bucket_start: selectEdgeOfAll(
    Object.values(ROLLUPS).map(({ days }) => selectEdgeOf(days, sql`r.first_bucket_start`)),
  ),
  // In the index, sessions without a time have 1970-01-01, so one that began at that very moment is not found.
  first_timestamp: selectEdgeOf(sessions, BEGAN, sql`${BEGAN} > '1970-01-01Z'`),
  timestamp: selectEdgeOfAll(
    TIMED_KINDS.map((kind) => selectEdgeOf(sessionEvents, sql`r."timestamp"`, sql.raw(`r.kind = '${kind}'`))),
  ),
};

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

const toDayStartMs = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;

/** `firstsMs` is the first moment of each year with rows, in order. */
function toCalendar(firstsMs: readonly number[], lastRowMs: number, clock: LocalClock): ReportCalendar {
  // Rows of a day begin at its first 15-minute bucket.
  const lastMs = toDayStartMs(lastRowMs) + DAY_MS - 1;
  // An hour that rows are in may begin on the day before.
  const listOffsets = (startMs: number, endMs: number) => clock.listOffsets(startMs - HOUR_MS, endMs);
  if (firstsMs.length > MAX_YEARS) return { offsets: listOffsets(firstsMs[0] ?? 0, lastMs) };
  const offsets: ClockOffset[] = [];
  const months = new Set<string>();
  const daysMs: number[] = [];
  for (const firstMs of firstsMs) {
    const startMs = toDayStartMs(firstMs);
    const endMs = Math.min(Date.UTC(new Date(firstMs).getUTCFullYear() + 1, 0) - 1, lastMs);
    for (const offset of listOffsets(startMs, endMs)) {
      if (offset.offsetMs !== offsets.at(-1)?.offsetMs) offsets.push(offset);
    }
    for (let dayMs = startMs; dayMs <= endMs; dayMs += DAY_MS) {
      daysMs.push(dayMs);
      // A UTC day has at most two local dates.
      for (const ms of [dayMs, dayMs + DAY_MS]) months.add(toMonthStart(new Date(clock.toLocalMs(ms))));
    }
  }
  return { offsets, days: { months: [...months].sort(compareDates), daysMs } };
}

const toMonthStart = (date: Date): string =>
  `${date.getUTCFullYear()}-${String(date.getUTCMonth() + 1).padStart(2, '0')}-01`;

/** Years have four or five digits. */
const compareDates = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : 1);

/** A moment's local time, expressed as if it were UTC. */
export const toLocalTime = (time: SQL, calendar: ReportCalendar): SQL => sql`(${time} + ${toOffset(time, calendar)})`;

/** The offset of local clocks from UTC. A choice among few offsets takes a tenth of the time of a search. */
function toOffset(time: SQL, { offsets, days }: ReportCalendar): SQL {
  const [first, ...others] = offsets;
  if (days === undefined) {
    const changes = sql`${sql.param(others.map(({ fromMs }) => new Date(fromMs).toISOString()))}::timestamptz[]`;
    const intervals = sql`${sql.param(offsets.map(({ offsetMs }) => `${offsetMs} milliseconds`))}::interval[]`;
    return sql`(${intervals})[width_bucket(${time}, ${changes}) + 1]`;
  }
  let offset = toInterval(first?.offsetMs ?? 0);
  for (const { fromMs, offsetMs } of others)
    offset = sql`CASE WHEN ${time} < ${new Date(fromMs).toISOString()}::timestamptz THEN ${offset} ELSE ${toInterval(offsetMs)} END`;
  return offset;
}

const toInterval = (ms: number): SQL => sql`${`${ms} milliseconds`}::interval`;

export type Period = 'hour' | 'day' | 'week' | 'month';

/** The start of the local hour, day, week (from Monday) or month of a local time, as a local time. */
export function toPeriod(period: Period, localTime: SQL, calendar: ReportCalendar): SQL {
  if (period === 'hour') return sql`date_bin('1 hour', ${localTime}, '2000-01-01Z')`;
  if (period === 'day') return sql`date_bin('24 hours', ${localTime}, '2000-01-01Z')`;
  if (period === 'week') return sql`date_bin('168 hours', ${localTime}, '2000-01-03Z')`;
  if (calendar.days === undefined) return sql`date_trunc('month', ${localTime}, 'UTC')`;
  const starts = sql`${sql.param(calendar.days.months.map((month) => `${month}T00:00:00Z`))}::timestamptz[]`;
  return sql`(${starts})[width_bucket(${localTime}, ${starts})]`;
}

/** True if no local period ends, and no clock changes, between two moments of one UTC day. */
export function isWithinPeriod(period: Period, [first, last]: readonly [SQL, SQL], calendar: ReportCalendar): SQL {
  const isSame = (toLocal: (time: SQL) => SQL) =>
    sql`${toPeriod(period, toLocal(first), calendar)} = ${toPeriod(period, toLocal(last), calendar)}`;
  if (calendar.days === undefined) {
    const isOneOffset = sql`${toOffset(first, calendar)} = ${toOffset(last, calendar)}`;
    return sql`(${isSame((time) => toLocalTime(time, calendar))} AND ${isOneOffset})`;
  }
  const isSameWith = (offsetMs: number) => isSame((time) => sql`(${time} + ${toInterval(offsetMs)})`);
  const [earliest, ...others] = calendar.offsets;
  // Each with its constant offset, because choosing an offset for every moment is slower.
  let within = isSameWith(earliest?.offsetMs ?? 0);
  for (const { fromMs, offsetMs } of others) {
    const change = sql`${new Date(fromMs).toISOString()}::timestamptz`;
    within = sql`CASE WHEN ${first} >= ${change} THEN ${isSameWith(offsetMs)} WHEN ${last} >= ${change} THEN false ELSE ${within} END`;
  }
  return sql`(${within})`;
}

const BUCKET_MS = 15 * 60_000;
/** The first Monday after 1970 began. */
const MONDAY_MS = 4 * DAY_MS;

/** The number of a period, by local time. */
const PERIOD_NUMBERS: Readonly<Record<Period, (localMs: number) => number>> = {
  hour: (localMs) => Math.floor(localMs / HOUR_MS),
  day: (localMs) => Math.floor(localMs / DAY_MS),
  week: (localMs) => Math.floor((localMs - MONDAY_MS) / (7 * DAY_MS)),
  month: (localMs) => new Date(localMs).getUTCFullYear() * 12 + new Date(localMs).getUTCMonth(),
};

/**
 * Starts (milliseconds since 1970) of the UTC days where a period ends or the clocks change in the middle of an hour or
 * day (`unitMs`) of UTC. Undefined if these days are unknown, or a change leads back into a period that has ended.
 */
export function findSplitDays(
  periods: readonly Period[],
  unitMs: number,
  calendar: ReportCalendar | undefined,
): number[] | undefined {
  if (periods.length === 0) return [];
  if (calendar?.days === undefined) return undefined;
  const toOffsetMs = (ms: number): number =>
    calendar.offsets.findLast(({ fromMs }) => fromMs <= ms)?.offsetMs ?? calendar.offsets[0]?.offsetMs ?? 0;
  if (calendar.offsets.some((_, index) => isReturning(calendar, index, periods))) return undefined;
  const isSplit = (startMs: number): boolean => {
    const endMs = startMs + unitMs - BUCKET_MS;
    const [offset, endOffset] = [toOffsetMs(startMs), toOffsetMs(endMs)];
    return (
      offset !== endOffset ||
      periods.some((period) => PERIOD_NUMBERS[period](startMs + offset) !== PERIOD_NUMBERS[period](endMs + offset))
    );
  };
  const units = Array.from({ length: DAY_MS / unitMs }, (_, index) => index * unitMs);
  return calendar.days.daysMs.filter((dayMs) => units.some((unit) => isSplit(dayMs + unit)));
}

/**
 * True if a change of the clocks leads back into a day, week or month that has ended. An hour that occurs twice is two
 * hours.
 */
function isReturning({ offsets }: ReportCalendar, index: number, periods: readonly Period[]): boolean {
  const [before, after] = [offsets[index - 1], offsets[index]];
  if (before === undefined || after === undefined) return false;
  return periods.some((period) => {
    const toNumber = PERIOD_NUMBERS[period];
    return (
      period !== 'hour' &&
      toNumber(after.fromMs - BUCKET_MS + before.offsetMs) > toNumber(after.fromMs + after.offsetMs)
    );
  });
}
