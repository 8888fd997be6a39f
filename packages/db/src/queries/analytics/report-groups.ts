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
  /** All with the same further keys; columns that a further part lacks are null in it. */
  parts: readonly [GroupPart, ...GroupPart[]];
  /** Adds the aggregate `sessions`: different sessions of this part's rows. Faster than a count(DISTINCT …), which sorts. */
  sessionsOf?: Pick<GroupPart, 'source' | 'table' | 'keys' | 'where'>;
  /** By their names; numbers as float8, which is exact to 2^53. */
  aggregates: Readonly<Record<Exclude<keyof Aggregates & string, 'sessions'>, SQL> & { sessions?: SQL }>;
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
  { parts, sessionsOf, aggregates, having, order, toFigures }: GroupQuery<Aggregates, Figures>,
): Promise<ReportRows<Figures & GroupValues & Keys, Figures> & { groupCount: number }> {
  const names = [...groupBy, ...Object.keys(parts[0].keys ?? {})];
  const [firstName] = names;
  const isTotal = firstName === undefined ? sql`true` : sql`(GROUPING(${sql.identifier(firstName)}) = 1)`;
  const allAggregates: Record<string, SQL> = {
    ...aggregates,
    ...(sessionsOf !== undefined && {
      sessions: sql`CASE WHEN ${isTotal} THEN (${countSessions(sessionsOf, filter)}) ELSE coalesce(sum(session_count), 0) END::float8`,
    }),
  };
  const columnNames = Object.keys(parts[0].columns);
  const selects = parts.map((part) => toSelect(part, columnNames, groupBy, filter));
  if (sessionsOf !== undefined && firstName !== undefined) {
    selects.push(countSessionsByKeys(sessionsOf, columnNames, groupBy, filter));
  }
  const { rows } = await database.execute<Record<string, unknown>>(sql`
    SELECT ${toList(allAggregates, (name) => sql`g.${sql.identifier(name)}`)}, (count(*) OVER ())::float8 - 1 AS group_count
      ${sql.join(names.map((name) => sql`, ${toText(name, filter.timeZone)} AS ${sql.identifier(`key_${name}`)}`))}
    FROM (
      SELECT ${toList(allAggregates, (name) => allAggregates[name] ?? sql`NULL`)}, ${isTotal} AS is_total
        ${sql.join(names.map((name) => sql`, ${sql.identifier(name)}`))}
      FROM (${sql.join(selects, sql` UNION ALL `)}) AS x
      ${firstName === undefined ? sql`` : sql`GROUP BY GROUPING SETS ((${toNameList(names)}), ())`}
      ${firstName === undefined || having === undefined ? sql`` : sql`HAVING ${isTotal} OR ${having}`}
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

type NamedColumns = [name: string, value: SQL][];

const toKeys = (
  { source, keys }: Pick<GroupPart, 'source' | 'keys'>,
  groupBy: readonly ReportKey[],
  filter: ReportFilter,
): NamedColumns => [
  ...groupBy.map((key): [string, SQL] => [key, toKey(key, source, filter.timeZone)]),
  ...Object.entries(keys ?? {}),
];

function toSelect(
  part: GroupPart,
  columnNames: readonly string[],
  groupBy: readonly ReportKey[],
  filter: ReportFilter,
): SQL {
  const { columns, groupedColumns = [] } = part;
  const keys = toKeys(part, groupBy, filter);
  const all = [...keys, ...columnNames.map((name): [string, SQL] => [name, columns[name] ?? sql`NULL`])];
  // By position: the parameters within the keys would make them different expressions.
  const positions = [
    ...keys.map((_, index) => index + 1),
    ...groupedColumns.map((name) => keys.length + columnNames.indexOf(name) + 1),
  ];
  return sql`
    SELECT ${toColumns(all)}, NULL::bigint AS session_count ${fromPart(part, filter)}
    ${part.groupedColumns === undefined || positions.length === 0 ? sql`` : sql`GROUP BY ${sql.raw(positions.join(', '))}`}`;
}

type SessionsPart = NonNullable<GroupQuery<unknown, unknown>['sessionsOf']>;

const countSessions = (part: SessionsPart, filter: ReportFilter): SQL =>
  sql`SELECT count(*) FROM (SELECT DISTINCT ${part.source.sessionId} ${fromPart(part, filter)}) AS session`;

function countSessionsByKeys(
  part: SessionsPart,
  columnNames: readonly string[],
  groupBy: readonly ReportKey[],
  filter: ReportFilter,
): SQL {
  const keys = toKeys(part, groupBy, filter);
  const names = toNameList(keys.map(([name]) => name));
  return sql`
    SELECT ${names}, ${sql.join(columnNames.map(() => sql`NULL, `))} count(*)
    FROM (SELECT DISTINCT ${toColumns(keys)}, ${part.source.sessionId} ${fromPart(part, filter)}) AS session
    GROUP BY ${names}`;
}

const fromPart = ({ source, table, where }: SessionsPart, filter: ReportFilter): SQL => sql`
  FROM ${table} ${joinSessions(source)}
  WHERE ${toConditions(filter, source)} ${where === undefined ? sql`` : sql`AND ${where}`}`;

const toColumns = (columns: NamedColumns): SQL =>
  sql.join(
    columns.map(([name, value]) => sql`${value} AS ${sql.identifier(name)}`),
    sql`, `,
  );

const toNameList = (names: readonly string[]): SQL =>
  sql.join(
    names.map((name) => sql.identifier(name)),
    sql`, `,
  );

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
