import { type SQL, sql } from '../../drizzle.cjs';
import type { ReportSource } from './report-filter.ts';

/** Formats of keys that are times; what is grouped is local time, but for hours, which clocks may show twice. */
const TIME_FORMATS = {
  hour: 'YYYY-MM-DD"T"HH24:MI:SS',
  day: 'YYYY-MM-DD',
  week: 'YYYY-MM-DD',
  month: 'YYYY-MM',
} as const;

export type TimeKey = keyof typeof TIME_FORMATS;
export type ReportKey = TimeKey | 'model' | 'project' | 'git_branch' | 'agent' | 'agent_version' | 'session' | 'tool';

export const isTimeKey = (name: string): name is TimeKey => Object.hasOwn(TIME_FORMATS, name);

/** Date in the time zone. Three times as fast as date_trunc. */
export const toLocalDay = (time: SQL, timeZone: string): SQL => sql`(${time} AT TIME ZONE ${timeZone})::date`;

/** The value of a key in rows of a source. */
export function toKey(key: ReportKey, source: ReportSource, timeZone: string): SQL {
  switch (key) {
    case 'hour': {
      const local = sql`(${source.time} AT TIME ZONE ${timeZone})`;
      return sql`${source.time} - (${local} - date_trunc('hour', ${local}))`;
    }
    case 'day':
      return source.localDay ?? toLocalDay(source.time, timeZone);
    case 'week':
    case 'month':
      return sql`date_trunc(${key}, (${source.localDay ?? toLocalDay(source.time, timeZone)})::timestamp)`;
    case 'project':
      return sql`s.project`;
    case 'agent':
      return sql`s.agent`;
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
  }
}

function required(column: SQL | undefined, key: ReportKey): SQL {
  if (column === undefined) throw new TypeError(`This report has no groups by ${key}`);
  return column;
}

/** The text of a key in answers. */
export function toText(name: string, timeZone: string): SQL {
  const column = sql`g.${sql.identifier(name)}`;
  if (!isTimeKey(name)) return column;
  if (name !== 'hour') return sql`to_char(${column}, ${TIME_FORMATS[name]})`;
  const local = sql`(${column} AT TIME ZONE ${timeZone})`;
  const offset = sql`${local} - (${column} AT TIME ZONE 'UTC')`;
  return sql`to_char(${local}, ${TIME_FORMATS.hour})
    || CASE WHEN ${offset} < interval '0' THEN '-' ELSE '+' END
    || to_char(greatest(${offset}, -(${offset})), 'HH24:MI')`;
}
