import type { Database } from '../../database.ts';
import { type SQL, sql } from '../../drizzle.cjs';
import { readCalendar } from './report-calendar.ts';
import { joinSessions, type ReportFilter, type ReportSource, toConditions } from './report-filter.ts';
import { isTimeKey, type ReportKey, type ReportScope, toKey, toText } from './report-keys.ts';
import type { TableSource } from './rollup-source.ts';

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
  table: SQL | TableSource;
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
  /** Adds the aggregate `sessions`: different sessions of the first part, which has `groupedColumns`. */
  countsSessions?: true;
  /** By their names; numbers as float8, which is exact to 2^53. */
  aggregates: Readonly<Record<Exclude<keyof Aggregates & string, 'sessions'>, SQL> & { sessions?: SQL }>;
  /** Which rows there are, by aggregates of the parts' columns; totals are of all of them. */
  having?: SQL;
  /** What comes first, after the time: names of aggregates, of `g`. */
  order: SQL;
  /** The same as aggregates of the first part's table, none of them negative: reports by session need not sum up all of them then. */
  ranking?: readonly SQL[];
  toFigures(aggregates: Aggregates): Figures;
}

/** Rows of a report by the keys asked for, the same figures over all of them, and how many rows there are. */
export async function readGroups<Aggregates, Figures, Keys = unknown>(
  database: Database,
  filter: ReportFilter,
  page: ReportPage,
  query: GroupQuery<Aggregates, Figures>,
): Promise<ReportRows<Figures & GroupValues & Keys, Figures> & { groupCount: number }> {
  const { groupBy = [], limit } = page;
  const [first, ...others] = query.parts;
  const scope = await createScope(database, filter, groupBy, query.parts);
  const narrow = groupBy.includes('hour')
    ? await findHours(database, scope, limit, first)
    : await findSessions(database, scope, limit, query);
  if (narrow === undefined) return await readAllGroups<Aggregates, Figures, Keys>(database, scope, limit, query);
  const { totals } = await readAllGroups<Aggregates, Figures>(database, { ...filter, groupBy: [] }, 1, query);
  const found = await readAllGroups<Aggregates, Figures, Keys>(database, scope, limit, {
    ...query,
    parts: [narrow(first), ...others.map(narrow)],
  });
  return { ...found, totals };
}

const QUARTERS_OF_AN_HOUR = 4;
/** Beyond the page: where clocks go back over midnight, an hour of the day before comes after one of the day. */
const MARGIN_HOURS = 24;

/**
 * Narrows parts to the hours that a page has, where the first part has more: hours are the first thing that rows are
 * ordered by, and the sums of all of them come from days. The last hour may lack quarters: it is beyond the page.
 */
async function findHours(
  database: Database,
  scope: ReportScope,
  limit: number,
  first: GroupPart,
): Promise<((part: GroupPart) => GroupPart) | undefined> {
  if (typeof first.table !== 'function') return undefined;
  const quarters = (limit + MARGIN_HOURS) * QUARTERS_OF_AN_HOUR;
  const { rows } = await database.execute<{ last_ms: number | null }>(sql`
    SELECT CASE WHEN count(*) = ${quarters}::int THEN extract(epoch FROM max(quarter))::float8 * 1000 END AS last_ms FROM (
      SELECT DISTINCT ${first.source.time} AS quarter ${fromPart(first, scope)}
        AND ${first.source.time} IS NOT NULL
      ORDER BY quarter LIMIT ${quarters}
    ) AS quarters`);
  const lastMs = rows[0]?.last_ms ?? null;
  if (lastMs === null) return undefined;
  return (part) => {
    const { time } = part.source;
    return restrict(part, sql`(${time} IS NULL OR ${time} <= ${new Date(lastMs).toISOString()}::timestamptz)`);
  };
}

const restrict = (part: GroupPart, condition: SQL): GroupPart => ({
  ...part,
  where: part.where === undefined ? condition : sql`${part.where} AND ${condition}`,
});

/** Narrows parts to the sessions that a page has, where the first part has more that rank above nothing. */
async function findSessions<Aggregates, Figures>(
  database: Database,
  scope: ReportScope,
  limit: number,
  { parts: [first], ranking }: GroupQuery<Aggregates, Figures>,
): Promise<((part: GroupPart) => GroupPart) | undefined> {
  if (ranking === undefined || scope.groupBy.join() !== 'session') return undefined;
  const ranks = ranking.map((rank) => sql`coalesce(${rank}, 0)`);
  const { rows } = await database.execute<{ ids: string[]; is_more: boolean | null }>(sql`
    ${withQueries([first], scope)}
    SELECT array_agg(id) AS ids, count(*) > ${limit}::int AND bool_and(is_ranked) AS is_more FROM (
      SELECT ${first.source.sessionId} AS id, greatest(${sql.join(ranks, sql`, `)}) > 0 AS is_ranked
      ${fromPart(first, scope)}
      GROUP BY 1 ORDER BY ${sql.join(ranks.map((rank) => sql`${rank} DESC, `))} 1
      LIMIT ${limit + 1}
    ) AS ranked`);
  const [found] = rows;
  if (!found?.is_more) return undefined;
  return (part) => restrict(part, sql`${part.source.sessionId} = ANY(${sql.param(found.ids)}::text[])`);
}

async function readAllGroups<Aggregates, Figures, Keys = unknown>(
  database: Database,
  scope: ReportScope,
  limit: number,
  query: GroupQuery<Aggregates, Figures>,
): Promise<ReportRows<Figures & GroupValues & Keys, Figures> & { groupCount: number }> {
  const { parts, countsSessions, having, order, toFigures } = query;
  const [first] = parts;
  const names = [...scope.groupBy, ...Object.keys(first.keys ?? {})];
  const [firstName] = names;
  const isTotal = firstName === undefined ? sql`true` : sql`(GROUPING(${sql.identifier(firstName)}) = 1)`;
  const columnNames = Object.keys(first.columns);
  const allAggregates: Record<string, SQL> = { ...query.aggregates };
  const selects = parts.map((part) => toSelect(part, columnNames, scope));
  if (countsSessions) {
    allAggregates.sessions = sql`CASE WHEN ${isTotal}
      THEN (SELECT count(*) FROM (SELECT DISTINCT counted_session FROM session_keys) AS session)
      ELSE coalesce(sum(session_count), 0) END::float8`;
    if (firstName !== undefined) selects.push(countSessionsByKeys(names, columnNames));
  }
  const queries = countsSessions ? [sql`session_keys AS MATERIALIZED (${selectSessionKeys(first, scope)})`] : [];
  const { rows } = await database.execute<Record<string, unknown>>(sql`
    ${withQueries(parts, scope, queries)}
    SELECT ${toList(allAggregates, (name) => sql`g.${sql.identifier(name)}`)}, (count(*) OVER ())::float8 - 1 AS group_count
      ${sql.join(names.map((name) => sql`, ${toText(name, scope)} AS ${sql.identifier(`key_${name}`)}`))}
    FROM (
      SELECT ${toList(allAggregates, (name) => allAggregates[name] ?? sql`NULL`)}, ${isTotal} AS is_total
        ${sql.join(names.map((name) => sql`, ${sql.identifier(name)}`))}
      FROM (
        ${sql.join(selects, sql` UNION ALL `)}
      ) AS x
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

/**
 * Aggregates of a part's rows by its keys, in no order, with the keys as reports have them. With `ids`, JSON arrays of the
 * values of all keys, only of these.
 */
export async function readByKeys<Row>(
  database: Database,
  filter: ReportFilter,
  groupBy: readonly ReportKey[],
  part: Pick<GroupPart, 'source' | 'table' | 'keys' | 'where'>,
  aggregates: Readonly<Record<keyof Row & string, SQL>>,
  ids?: readonly string[],
): Promise<(Row & Record<string, unknown>)[]> {
  const scope = await createScope(database, filter, groupBy, [part]);
  const keys = toKeys(part, scope);
  const texts = keys.map(([name]) => toText(name, scope));
  const { rows } = await database.execute(sql`
    ${withQueries([part], scope)}
    SELECT ${toNameList(Object.keys(aggregates))}
      ${sql.join(keys.map(([name], index) => sql`, ${texts[index]} AS ${sql.identifier(name)}`))}
    FROM (
      SELECT ${toColumns([...keys, ...Object.entries<SQL>(aggregates)])} ${fromPart(part, scope)}
      ${keys.length === 0 ? sql`` : sql`GROUP BY ${sql.raw(keys.map((_, index) => index + 1).join(', '))}`}
    ) AS g
    ${ids === undefined ? sql`` : sql`WHERE jsonb_build_array(${sql.join(texts, sql`, `)}) = ANY(${sql.param(ids)}::jsonb[])`}`);
  return rows as (Row & Record<string, unknown>)[];
}

async function createScope(
  database: Database,
  filter: ReportFilter,
  groupBy: readonly ReportKey[],
  parts: readonly Pick<GroupPart, 'table'>[],
): Promise<ReportScope> {
  const isRolledUp = parts.some(({ table }) => typeof table === 'function');
  const calendar = isRolledUp && groupBy.some(isTimeKey) ? await readCalendar(database, filter) : undefined;
  return { ...filter, groupBy, calendar };
}

type NamedColumns = [name: string, value: SQL][];

const toKeys = ({ source, keys }: Pick<GroupPart, 'source' | 'keys'>, scope: ReportScope): NamedColumns => [
  ...scope.groupBy.map((key): [string, SQL] => [key, toKey(key, source, scope)]),
  ...Object.entries(keys ?? {}),
];

function toSelect(part: GroupPart, columnNames: readonly string[], scope: ReportScope): SQL {
  const { columns, groupedColumns } = part;
  const keys = toKeys(part, scope);
  const all = [...keys, ...columnNames.map((name): [string, SQL] => [name, columns[name] ?? sql`NULL`])];
  // By position: the parameters within the keys would make them different expressions.
  const positions = [
    ...keys.map((_, index) => index + 1),
    ...(groupedColumns ?? []).map((name) => keys.length + columnNames.indexOf(name) + 1),
  ];
  return sql`
    SELECT ${toColumns(all)}, NULL::bigint AS session_count ${fromPart(part, scope)}
    ${groupedColumns === undefined || positions.length === 0 ? sql`` : sql`GROUP BY ${sql.raw(positions.join(', '))}`}`;
}

/** Counting different sessions by hashing is faster than a count(DISTINCT …), which sorts. */
const countSessionsByKeys = (names: readonly string[], columnNames: readonly string[]): SQL => sql`
  SELECT ${toNameList(names)}, ${sql.join(columnNames.map(() => sql`NULL, `))} count(*)
  FROM session_keys GROUP BY ${toNameList(names)}`;

/** Sessions of a part by the keys. */
const selectSessionKeys = (part: GroupPart, scope: ReportScope): SQL => sql`
  SELECT DISTINCT ${toColumns([...toKeys(part, scope), ['counted_session', part.source.sessionId]])}
  ${fromPart(part, scope)}`;

const fromPart = (
  { source, table, where }: Pick<GroupPart, 'source' | 'table' | 'where'>,
  scope: ReportScope,
): SQL => sql`
  FROM ${typeof table === 'function' ? table(scope).table : table} ${joinSessions(source)}
  WHERE ${toConditions(scope, source)} ${where === undefined ? sql`` : sql`AND ${where}`}`;

/** The WITH that the tables of parts need, with queries of its own after them. */
function withQueries(
  parts: readonly Pick<GroupPart, 'table'>[],
  scope: ReportScope,
  queries: readonly SQL[] = [],
): SQL {
  const ofTables = parts.flatMap(({ table }) => (typeof table === 'function' ? (table(scope).query ?? []) : []));
  const all = [...ofTables, ...queries];
  return all.length === 0 ? sql`` : sql`WITH ${sql.join(all, sql`, `)}`;
}

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
