import { type SQL, sql } from '../drizzle.cjs';
import type { TotalsKind } from '../usage/rollups.ts';
import { ATTRIBUTION } from '../usage/rollups-schema.ts';
import { type ReportCalendar, toLocalMoment, toLocalTime, toPeriod } from './report-calendar.ts';
import type { ReportFilter, ReportSource } from './report-filter.ts';

/** Formats of time keys. Grouping uses local time, except by hour, because clocks may show an hour twice. */
const TIME_FORMATS = {
  hour: 'YYYY-MM-DD"T"HH24:MI:SS',
  day: 'YYYY-MM-DD',
  week: 'YYYY-MM-DD',
  month: 'YYYY-MM',
} as const;

export type TimeKey = keyof typeof TIME_FORMATS;
export type ReportKey =
  | TimeKey
  | 'model'
  | 'project'
  | 'git_branch'
  | 'agent'
  | 'person'
  | 'machine'
  | 'agent_version'
  | 'session'
  | 'tool'
  | 'tool_kind';

/** Keys that are columns of the session, and so have one value for all of its rows. */
export const SESSION_KEYS: ReadonlySet<string> = new Set<ReportKey>(ATTRIBUTION);

/** The length of time that a row of totals covers. */
export type TotalUnit = 'hour' | 'day';

/** The UTC days that a report reads from the sessions' rows instead of from totals; undefined: all days. */
export interface SessionDays extends Readonly<Record<TotalUnit, readonly string[] | undefined>> {
  /** The kind of totals that have the report's keys and filters. */
  kind: TotalsKind;
}

/** The data of a report, and its keys. */
export interface ReportScope extends ReportFilter {
  groupBy: readonly ReportKey[];
  /** Set if roll-ups are read by time. */
  calendar?: ReportCalendar | undefined;
  /** Set if the report reads totals for the other days. */
  sessionDays?: SessionDays | undefined;
  /**
   * Rows are only used to find the sessions, so 15-minute rows may be returned in addition to the day that contains them.
   */
  isCounted?: true | undefined;
  /** Whether the sessions `s` come from `reported_session`, which has those of the report. Default: from all sessions. */
  listsSessions?: boolean | undefined;
  /** Restricts roll-ups to rows on these UTC days and rows without a time. Default: all rows. */
  onlyDays?: readonly string[] | undefined;
  /** The parts' conditions leave only rows up to this moment, and without a time: a range that an index can serve. */
  until?: string | undefined;
  /** Restricts roll-ups to sessions that have rows on these UTC days or rows without a time. Default: all sessions. */
  onlySessionsOf?: readonly string[] | undefined;
}

export const isTimeKey = (name: string): name is TimeKey => Object.hasOwn(TIME_FORMATS, name);

/**
 * The value of a key in rows of a source. With a calendar, times are local times in its form; without one, for reports
 * that use no roll-ups, they have no zone.
 */
export function toKey(key: ReportKey, source: ReportSource, { timeZone, calendar }: ReportScope): SQL {
  switch (key) {
    case 'hour': {
      const local = calendar === undefined ? toZone(source, timeZone) : toLocal(source, calendar, timeZone);
      const hour = calendar === undefined ? sql`date_trunc('hour', ${local})` : toPeriod(key, local, calendar);
      return sql`${source.time} - (${local} - ${hour})`;
    }
    case 'day':
    case 'week':
    case 'month': {
      if (calendar !== undefined) {
        // The calendar has the months of what is rolled up.
        return toPeriod(key, toLocal(source, calendar, timeZone), source.isMoment ? { timeZone } : calendar);
      }
      // A cast to date takes a third of the time of date_trunc.
      const day = sql`${toZone(source, timeZone)}::date`;
      return key === 'day' ? day : sql`date_trunc(${key}, ${day}::timestamp)`;
    }
    case 'project':
      return sql`s.project`;
    case 'agent':
      return sql`s.agent`;
    case 'person':
      return sql`s.person`;
    case 'machine':
      return sql`s.machine`;
    case 'git_branch':
      return source.gitBranch;
    case 'agent_version':
      return source.agentVersion;
    case 'session':
      return source.sessionId;
    case 'model':
      return required(source.model, key);
    case 'tool':
      return required(source.tool, key);
    case 'tool_kind':
      return required(source.toolKind, key);
  }
}

const toZone = ({ time, localTime }: ReportSource, timeZone: string): SQL =>
  localTime ?? sql`(${time} AT TIME ZONE ${timeZone})`;

const toLocal = ({ time, localTime, isMoment }: ReportSource, calendar: ReportCalendar, timeZone: string): SQL =>
  localTime ?? (isMoment ? toLocalMoment(time, calendar, timeZone) : toLocalTime(time, calendar));

function required(column: SQL | undefined, key: ReportKey): SQL {
  if (column === undefined) throw new TypeError(`This report has no groups by ${key}`);
  return column;
}

/** A key's text in answers. */
export function toText(name: string, { timeZone, calendar }: ReportScope): SQL {
  const column = sql`g.${sql.identifier(name)}`;
  if (!isTimeKey(name)) return column;
  if (name !== 'hour') {
    const local = calendar === undefined ? column : sql`${column} AT TIME ZONE 'UTC'`;
    return sql`to_char(${local}, ${TIME_FORMATS[name]})`;
  }
  const local = sql`(${column} AT TIME ZONE ${timeZone})`;
  const offset = sql`${local} - (${column} AT TIME ZONE 'UTC')`;
  return sql`to_char(${local}, ${TIME_FORMATS.hour})
    || CASE WHEN ${offset} < interval '0' THEN '-' ELSE '+' END
    || to_char(greatest(${offset}, -(${offset})), 'HH24:MI')`;
}
