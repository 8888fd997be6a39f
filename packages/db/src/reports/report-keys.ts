import { type SQL, sql } from '../drizzle.cjs';
import { isPeopleKey, type PeopleKey, toPeopleKey } from '../filters/attributed-to.ts';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { TotalsKind } from '../schema/rollup-tables.ts';
import { ATTRIBUTION } from '../schema/rollups.ts';
import { type ReportCalendar, toLocalTime, toPeriod } from './report-calendar.ts';
import type { ReportSource } from './report-source.ts';

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
  | 'repository'
  | 'git_branch'
  | 'agent'
  | PeopleKey
  | 'machine'
  | 'agent_version'
  | 'kind_of_work'
  | 'session'
  | 'tool'
  | 'tool_kind';

/** Keys that are columns of the session, and so have one value for all of its rows. */
const SESSION_KEYS: ReadonlySet<string> = new Set<ReportKey>(ATTRIBUTION);

/** True for a key that depends on what a session is attributed to, and on the day. */
export const isAttributionKey = (key: string): boolean => SESSION_KEYS.has(key) || isPeopleKey(key);

/** True for a key that has one value for all rows of a session. A person may have changed teams while one ran. */
export const isSessionKey = (key: string, { people }: Pick<ReportFilter, 'people'>): boolean =>
  SESSION_KEYS.has(key) || (isPeopleKey(key) && people?.isConstant !== false);

/** The length of time that a row of totals covers. */
export type TotalUnit = 'hour' | 'day';

/** The UTC days that a report reads from the sessions' rows instead of from totals; undefined means all days. */
export interface SessionDays extends Readonly<Record<TotalUnit, readonly string[] | undefined>> {
  /** The kind of totals that have the report's keys and filters. */
  kind: TotalsKind;
}

/** The data of a report, and its keys. */
export interface ReportScope extends ReportFilter {
  groupBy: readonly ReportKey[];
  /** Set if a key is a time. */
  calendar?: ReportCalendar | undefined;
  /** Set if the report reads totals for the other days. */
  sessionDays?: SessionDays | undefined;
  /**
   * Rows are only used to find the sessions, so 15-minute rows may be returned in addition to the day that contains them.
   */
  isCounted?: true | undefined;
  /** True if the sessions `s` come from `reported_session`, which has the report's. Defaults to all sessions. */
  listsSessions?: boolean | undefined;
  /** Restricts roll-ups to rows on these UTC days and rows without a time. Defaults to all rows. */
  onlyDays?: readonly string[] | undefined;
  /**
   * The parts' conditions leave only rows up to this moment, and without a time, which is a range that an index can
   * serve.
   */
  until?: string | undefined;
  /**
   * Restricts roll-ups to sessions that have rows on these UTC days or rows without a time. Defaults to all sessions.
   */
  onlySessionsOf?: readonly string[] | undefined;
}

export const isTimeKey = (name: string): name is TimeKey => Object.hasOwn(TIME_FORMATS, name);

/** The value of a key in rows of a source. Days, weeks and months are local times, as the calendar has them. */
export function toKey(key: ReportKey, source: ReportSource, scope: Pick<ReportScope, 'calendar' | 'people'>): SQL {
  switch (key) {
    case 'hour': {
      const local = toLocal(source, toKnown(scope));
      return sql`${source.time} - (${local} - ${toPeriod(key, local, toKnown(scope))})`;
    }
    case 'day':
    case 'week':
    case 'month':
      return toPeriod(key, toLocal(source, toKnown(scope)), toKnown(scope));
    case 'project':
      return sql`s.project`;
    case 'repository':
      return sql`s.repository`;
    case 'agent':
      return sql`s.agent`;
    case 'person':
    case 'team':
    case 'cost_centre':
      return toPeopleKey(key, sql`s.person`, scope.people);
    case 'machine':
      return sql`s.machine`;
    case 'git_branch':
      return source.gitBranch;
    case 'agent_version':
      return source.agentVersion;
    case 'kind_of_work':
      return required(source.kindOfWork, key);
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

const toLocal = ({ time, localTime }: ReportSource, calendar: ReportCalendar): SQL =>
  localTime ?? toLocalTime(time, calendar);

function toKnown({ calendar }: Pick<ReportScope, 'calendar'>): ReportCalendar {
  if (calendar === undefined) throw new TypeError('Groups by time need a calendar');
  return calendar;
}

function required(column: SQL | undefined, key: ReportKey): SQL {
  if (column === undefined) throw new TypeError(`This report has no groups by ${key}`);
  return column;
}

/** A key's text in answers. */
export function toText(name: string, scope: Pick<ReportScope, 'calendar'>): SQL {
  const column = sql`g.${sql.identifier(name)}`;
  if (!isTimeKey(name)) return column;
  const toChars = (local: SQL) => sql`to_char(${local} AT TIME ZONE 'UTC', ${TIME_FORMATS[name]})`;
  if (name !== 'hour') return toChars(column);
  const local = toLocalTime(column, toKnown(scope));
  const offset = sql`(${local} - ${column})`;
  return sql`${toChars(local)}
    || CASE WHEN ${offset} < interval '0' THEN '-' ELSE '+' END
    || to_char(greatest(${offset}, -${offset}), 'HH24:MI')`;
}
