import type { Database } from '../../database.ts';
import { type SQL, sql } from '../../drizzle.cjs';
import { joinSessions, type ReportFilter, type ReportSource, toConditions } from './report-filter.ts';

/** Formats of keys that are times; what is grouped is local time, but for hours, which clocks may show twice. */
const TIME_FORMATS = {
  hour: 'YYYY-MM-DD"T"HH24:MI:SS',
  day: 'YYYY-MM-DD',
  week: 'YYYY-MM-DD',
  month: 'YYYY-MM',
} as const;

type TimeKey = keyof typeof TIME_FORMATS;
export type ReportKey = TimeKey | 'model' | 'project' | 'git_branch' | 'agent' | 'agent_version' | 'session' | 'tool';

/** What a row is about: the keys that were asked for, and no others. */
export type GroupValues = Partial<
  Record<Exclude<ReportKey, 'session' | 'tool'>, string | null> & Record<'session' | 'tool', string>
>;

export interface ReportPage {
  groupBy?: readonly ReportKey[];
  /** Rows at most. */
  limit: number;
}

export interface ReportRows<Row, Totals = Row> {
  rows: Row[];
  /** Of all rows, also those beyond the limit. */
  totals: Totals;
  /** Whether there are more rows than the limit. */
  truncated: boolean;
}

/** Rows of a table that aggregates are made of. */
export interface GroupPart {
  source: ReportSource;
  /** With the source's alias. */
  table: SQL;
  columns: Readonly<Record<string, SQL>>;
  /** Where given, rows are summed up at once by the keys and these columns; the others are aggregates. */
  groupedColumns?: readonly string[];
  /** Further keys of each row, by the name that they have in it. */
  keys?: Readonly<Record<string, SQL>>;
  /** Conditions beyond those of the filter. */
  where?: SQL;
}

export interface GroupQuery<Aggregates, Figures> {
  /** All with the same columns and further keys. */
  parts: readonly [GroupPart, ...GroupPart[]];
  /** By their names; numbers as float8, which is exact to 2^53. */
  aggregates: Readonly<Record<keyof Aggregates & string, SQL>>;
  /** Which rows there are, by aggregates of the parts' columns; totals are of all of them. */
  having?: SQL;
  /** What comes first, after the time: names of aggregates, of `g`. */
  order: SQL;
  toFigures(aggregates: Aggregates): Figures;
}

/** Rows of a report by the keys asked for, the same figures over all of them, and how many rows there are. */
export async function readGroups<Aggregates, Figures, Keys = unknown>(
  database: Database,
  filter: ReportFilter,
  { groupBy = [], limit }: ReportPage,
  { parts, aggregates, having, order, toFigures }: GroupQuery<Aggregates, Figures>,
): Promise<ReportRows<Figures & GroupValues & Keys, Figures> & { groupCount: number }> {
  const names = [...groupBy, ...Object.keys(parts[0].keys ?? {})];
  const [firstName] = names;
  const nameList = sql.join(
    names.map((name) => sql.identifier(name)),
    sql`, `,
  );
  const { rows } = await database.execute<Record<string, unknown>>(sql`
    SELECT ${toList(aggregates, (name) => sql`g.${sql.identifier(name)}`)}, (count(*) OVER ())::float8 - 1 AS group_count
      ${sql.join(names.map((name) => sql`, ${toText(name, filter.timeZone)} AS ${sql.identifier(`key_${name}`)}`))}
    FROM (
      SELECT ${toList(aggregates, (name) => aggregates[name as keyof Aggregates & string])},
        ${firstName === undefined ? sql`true` : sql`GROUPING(${sql.identifier(firstName)}) = 1`} AS is_total
        ${sql.join(names.map((name) => sql`, ${sql.identifier(name)}`))}
      FROM (${sql.join(
        parts.map((part) => toSelect(part, groupBy, filter)),
        sql` UNION ALL `,
      )}) AS x
      GROUP BY ${firstName === undefined ? sql`()` : sql`GROUPING SETS ((${nameList}), ())`}
      ${firstName === undefined || having === undefined ? sql`` : sql`HAVING GROUPING(${sql.identifier(firstName)}) = 1 OR ${having}`}
    ) AS g
    ORDER BY is_total DESC,
      ${sql.join(names.filter(isTimeKey).map((name) => sql`g.${sql.identifier(name)} NULLS FIRST, `))} ${order}
      ${sql.join(names.map((name) => sql`, g.${sql.identifier(name)} NULLS FIRST`))}
    LIMIT ${limit + 2}`);
  const [total = {}, ...groupRows] = rows;
  const found = firstName === undefined ? [total] : groupRows;
  return {
    rows: found.slice(0, limit).map((row) => {
      const values = Object.fromEntries(names.map((name) => [name, row[`key_${name}`] ?? null]));
      return { ...values, ...toFigures(row as Aggregates) } as Figures & GroupValues & Keys;
    }),
    totals: toFigures(total as Aggregates),
    truncated: found.length > limit,
    groupCount: Number(total.group_count ?? 0),
  };
}

function toSelect(part: GroupPart, groupBy: readonly ReportKey[], filter: ReportFilter): SQL {
  const { source, table, columns, groupedColumns, where } = part;
  const named: [string, SQL][] = [
    ...groupBy.map((key): [string, SQL] => [key, toKey(key, source, filter.timeZone)]),
    ...Object.entries(part.keys ?? {}),
    ...(groupedColumns ?? []).map((name): [string, SQL] => [name, columns[name] ?? sql`NULL`]),
  ];
  const others = Object.entries(columns).filter(([name]) => groupedColumns?.includes(name) !== true);
  const all = [...named, ...others].map(([name, value]) => sql`${value} AS ${sql.identifier(name)}`);
  // By position: the parameters within the keys would make them different expressions.
  const positions = sql.raw(named.map((_, index) => index + 1).join(', '));
  return sql`
    SELECT ${sql.join(all, sql`, `)} FROM ${table} ${joinSessions(source)}
    WHERE ${toConditions(filter, source)} ${where === undefined ? sql`` : sql`AND ${where}`}
    ${groupedColumns === undefined ? sql`` : sql`GROUP BY ${positions}`}`;
}

function toList(aggregates: Readonly<Record<string, SQL>>, toSql: (name: string) => SQL): SQL {
  return sql.join(
    Object.keys(aggregates).map((name) => sql`${toSql(name)} AS ${sql.identifier(name)}`),
    sql`, `,
  );
}

const isTimeKey = (name: string): name is TimeKey => Object.hasOwn(TIME_FORMATS, name);

function toKey(key: ReportKey, source: ReportSource, timeZone: string): SQL {
  switch (key) {
    case 'hour': {
      const local = sql`(${source.time} AT TIME ZONE ${timeZone})`;
      return sql`${source.time} - (${local} - date_trunc('hour', ${local}))`;
    }
    case 'day':
      // Three times as fast as date_trunc.
      return sql`(${source.time} AT TIME ZONE ${timeZone})::date`;
    case 'week':
    case 'month':
      return sql`date_trunc(${key}, ${source.time} AT TIME ZONE ${timeZone})`;
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
function toText(name: string, timeZone: string): SQL {
  const column = sql`g.${sql.identifier(name)}`;
  if (!isTimeKey(name)) return column;
  if (name !== 'hour') return sql`to_char(${column}, ${TIME_FORMATS[name]})`;
  const local = sql`(${column} AT TIME ZONE ${timeZone})`;
  const offset = sql`${local} - (${column} AT TIME ZONE 'UTC')`;
  return sql`to_char(${local}, ${TIME_FORMATS.hour})
    || CASE WHEN ${offset} < interval '0' THEN '-' ELSE '+' END
    || to_char(greatest(${offset}, -(${offset})), 'HH24:MI')`;
}
