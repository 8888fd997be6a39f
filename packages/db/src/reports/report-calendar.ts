import type { Database } from '../database/database.ts';
import { getTableName, type SQL, sql } from '../drizzle.cjs';
import { ROLLUPS } from '../usage/rollups.ts';
import type { ReportFilter } from './report-filter.ts';

/**
 * A time zone's offsets at the quarters of an hour in a workspace's roll-ups; or only the zone if these span too many
 * years, and Postgres must convert every row's time.
 */
export type ReportCalendar = KnownClocks | { timeZone: string };

/** With these, local time is a sum, which takes Postgres a twentieth of the time of AT TIME ZONE. */
interface KnownClocks {
  /** Spans with one offset to UTC, in order; the first one has no beginning. */
  offsets: readonly { fromMs: number; offsetMs: number }[];
  /** First days of the local months, `YYYY-MM-DD`, in order. */
  months: readonly string[];
  /** Beginnings of the UTC days, milliseconds since 1970, on which there may be rows. */
  daysMs: readonly number[];
}

/** Transcripts may contain any year, and an expression with all changes of the clocks would be too long. */
const MAX_YEARS = 12;

/**
 * Reads the offsets at the start of each UTC day of the years that have roll-ups within the filter's time, and every
 * quarter of an hour on days with a change.
 */
export async function readCalendar(
  database: Database,
  { workspaceId, timeZone, from, to }: ReportFilter,
): Promise<ReportCalendar> {
  const start = sql`coalesce(${from}::timestamptz - interval '24 hours', '-infinity')`;
  const end = sql`coalesce(${to}::timestamptz, 'infinity')`;
  const { rows } = await database.execute<{ years: number; samples: [atMs: number, localMs: number][] | null }>(sql`
    WITH RECURSIVE edge AS (
      SELECT ${selectEdge('first', workspaceId, start, end)} AS first, ${selectEdge('last', workspaceId, start, end)} AS last
    ),
    year AS (
      SELECT date_trunc('year', first) AS start, 1 AS number FROM edge
      UNION ALL
      SELECT date_trunc('year', ${selectEdge('first', workspaceId, sql`(year.start + interval '1 year') AT TIME ZONE 'UTC'`, end)}),
        number + 1
      FROM year WHERE number <= ${MAX_YEARS} AND year.start IS NOT NULL
    ),
    day AS (
      SELECT moment AS start, moment AT TIME ZONE 'UTC' AT TIME ZONE ${timeZone} AS local_start,
        (moment + interval '1 day') AT TIME ZONE 'UTC' AT TIME ZONE ${timeZone} AS local_end
      FROM edge, year, generate_series(
        greatest(year.start, date_trunc('day', first)), least(year.start + interval '1 year' - interval '1 day', last), '1 day') AS moment
      -- After the last year comes a null, of which greatest and least would make all days from the first to the last.
      WHERE year.start IS NOT NULL AND (SELECT count(start) FROM year) <= ${MAX_YEARS}
    ),
    sample AS (
      SELECT start AS moment, local_start AS local FROM day
      UNION
      SELECT moment, moment AT TIME ZONE 'UTC' AT TIME ZONE ${timeZone}
      FROM day, generate_series(start, start + interval '23:45', '15 minutes') AS moment
      WHERE local_end - local_start <> '24 hours'
    )
    SELECT (SELECT count(start)::int FROM year) AS years,
      json_agg(json_build_array(extract(epoch FROM moment) * 1000, extract(epoch FROM local) * 1000) ORDER BY moment) AS samples
    FROM sample`);
  const { years = 0, samples } = rows[0] ?? {};
  return years > MAX_YEARS ? { timeZone } : toCalendar(samples ?? []);
}

/** The first or last start of a roll-up's row between two moments, as UTC without a zone. */
function selectEdge(edge: 'first' | 'last', workspaceId: string, start: SQL, end: SQL): SQL {
  const [aggregate, choose] = edge === 'first' ? ['min', 'least'] : ['max', 'greatest'];
  const edges = Object.values(ROLLUPS).map(
    ({ days }) => sql`(
      SELECT ${sql.raw(aggregate)}(first_bucket_start) FROM ${sql.raw(`recount.${getTableName(days)}`)} AS d
      WHERE d.workspace_id = ${workspaceId} AND d.first_bucket_start >= ${start} AND d.first_bucket_start < ${end})`,
  );
  return sql`${sql.raw(choose)}(${sql.join(edges, sql`, `)}) AT TIME ZONE 'UTC'`;
}

const DAY_MS = 24 * 60 * 60_000;

function toCalendar(samples: readonly (readonly [atMs: number, localMs: number])[]): KnownClocks {
  const offsets: { fromMs: number; offsetMs: number }[] = [];
  const months = new Set<string>();
  const days = new Set<number>();
  for (const [atMs, localMs] of samples) {
    const offsetMs = localMs - atMs;
    days.add(Math.floor(atMs / DAY_MS) * DAY_MS);
    if (offsets.at(-1)?.offsetMs !== offsetMs) offsets.push({ fromMs: atMs, offsetMs });
    // A sample covers at most one day, in which one month may end.
    for (const ms of [localMs, localMs + DAY_MS]) months.add(toMonthStart(new Date(ms)));
  }
  return { offsets, months: [...months].sort(compareDates), daysMs: [...days] };
}

const toMonthStart = (date: Date): string =>
  `${date.getUTCFullYear()}-${String(date.getUTCMonth() + 1).padStart(2, '0')}-01`;

/** Years have four or five digits. */
const compareDates = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : 1);

/** The local time of a roll-up's quarter of an hour, expressed as if it were UTC. */
export const toLocalTime = (time: SQL, calendar: ReportCalendar): SQL => sql`(${time} + ${toOffset(time, calendar)})`;

/**
 * The local time of any moment, expressed as if it were UTC. On a day that the calendar does not have, as nothing is
 * rolled up in its year, PostgreSQL converts it.
 */
export function toLocalMoment(time: SQL, calendar: ReportCalendar, timeZone: string): SQL {
  if ('timeZone' in calendar) return toLocalTime(time, calendar);
  const known = listSpans(calendar.daysMs).map(
    ([firstMs, lastMs]) =>
      sql`${time} BETWEEN ${new Date(firstMs).toISOString()}::timestamptz AND ${new Date(lastMs).toISOString()}::timestamptz`,
  );
  const converted = toLocalTime(time, { timeZone });
  if (known.length === 0) return converted;
  return sql`CASE WHEN ${sql.join(known, sql` OR `)} THEN ${toLocalTime(time, calendar)} ELSE ${converted} END`;
}

/**
 * First and last milliseconds of runs of consecutive days, given in order. The last one and not the end, which may lie in
 * the year 10000, which PostgreSQL does not read.
 */
function listSpans(daysMs: readonly number[]): [firstMs: number, lastMs: number][] {
  const spans: [firstMs: number, lastMs: number][] = [];
  for (const dayMs of daysMs) {
    const last = spans.at(-1);
    if (last?.[1] === dayMs - 1) last[1] = dayMs + DAY_MS - 1;
    else spans.push([dayMs, dayMs + DAY_MS - 1]);
  }
  return spans;
}

/** How far local clocks are ahead of UTC. */
function toOffset(time: SQL, calendar: ReportCalendar): SQL {
  if ('timeZone' in calendar) return sql`(${time} AT TIME ZONE ${calendar.timeZone} AT TIME ZONE 'UTC' - ${time})`;
  const [first, ...others] = calendar.offsets;
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
  if ('timeZone' in calendar) return sql`date_trunc('month', ${localTime}, 'UTC')`;
  const starts = sql`${sql.param(calendar.months.map((month) => `${month}T00:00:00Z`))}::timestamptz[]`;
  return sql`(${starts})[width_bucket(${localTime}, ${starts})]`;
}

/** Whether no local period ends, and no clock changes, between two moments of one UTC day. */
export function isWithinPeriod(period: Period, [first, last]: readonly [SQL, SQL], calendar: ReportCalendar): SQL {
  const isSame = (toLocal: (time: SQL) => SQL) =>
    sql`${toPeriod(period, toLocal(first), calendar)} = ${toPeriod(period, toLocal(last), calendar)}`;
  if ('timeZone' in calendar) {
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

const QUARTER_MS = 15 * 60_000;
const HOUR_MS = 4 * QUARTER_MS;
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
 * Starts (milliseconds since 1970) of the UTC days on which a period ends or the clocks change in the middle of an hour or
 * day (`unitMs`) of UTC. Undefined if the clocks' offsets are unknown, or a change leads back into a period that has ended.
 */
export function findPartedDays(
  periods: readonly Period[],
  unitMs: number,
  calendar: ReportCalendar | undefined,
): number[] | undefined {
  if (periods.length === 0) return [];
  if (calendar === undefined || 'timeZone' in calendar) return undefined;
  const toOffsetMs = (ms: number): number =>
    calendar.offsets.findLast(({ fromMs }) => fromMs <= ms)?.offsetMs ?? calendar.offsets[0]?.offsetMs ?? 0;
  if (calendar.offsets.some((_, index) => isReturning(calendar, index, periods))) return undefined;
  const isParted = (startMs: number): boolean => {
    const endMs = startMs + unitMs - QUARTER_MS;
    const [offset, endOffset] = [toOffsetMs(startMs), toOffsetMs(endMs)];
    return (
      offset !== endOffset ||
      periods.some((period) => PERIOD_NUMBERS[period](startMs + offset) !== PERIOD_NUMBERS[period](endMs + offset))
    );
  };
  const units = Array.from({ length: DAY_MS / unitMs }, (_, index) => index * unitMs);
  return calendar.daysMs.filter((dayMs) => units.some((unit) => isParted(dayMs + unit)));
}

/** Whether a change of the clocks leads back into a day, week or month that has ended. An hour that occurs twice is two hours. */
function isReturning({ offsets }: KnownClocks, index: number, periods: readonly Period[]): boolean {
  const [before, after] = [offsets[index - 1], offsets[index]];
  if (before === undefined || after === undefined) return false;
  return periods.some((period) => {
    const toNumber = PERIOD_NUMBERS[period];
    return (
      period !== 'hour' &&
      toNumber(after.fromMs - QUARTER_MS + before.offsetMs) > toNumber(after.fromMs + after.offsetMs)
    );
  });
}
