import { PERSON_FIELDS } from '@recount/contract/access';
import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { type FoundPage, findHours, findSessions } from './find-page.ts';
import { fromPart, type GroupPart, toColumns, toKeys, toNameList, toSelect, withQueries } from './group-part.ts';
import { readCalendar } from './report-calendar.ts';
import { isAttributionKey, isTimeKey, type ReportKey, type ReportScope, toText } from './report-keys.ts';
import { isShort } from './report-source.ts';
import { countSessions, selectSessionKeys } from './session-counts.ts';
import { findSessionDays } from './totals-source.ts';

/** The subject of a row, with exactly the requested keys. */
export type GroupValues = Partial<
  Record<Exclude<ReportKey, 'session' | 'tool' | 'tool_kind'>, string | null> &
    Record<'session' | 'tool' | 'tool_kind', string>
>;

export interface ReportPage {
  groupBy?: readonly ReportKey[];
  /** Maximum number of rows. */
  limit: number;
}

export interface ReportRows<Row, Totals = Row> {
  rows: Row[];
  /** Totals of all rows, including those beyond the limit. */
  totals: Totals;
  /** True if there are more rows than the limit. */
  truncated: boolean;
}

export interface GroupQuery<Aggregates, Figures> {
  /** All with the same additional keys; columns that a further part lacks are null in it. */
  parts: readonly [GroupPart, ...GroupPart[]];
  /**
   * Adds the aggregate `sessions`, which counts different sessions of the first part, which has `groupedColumns`, or of
   * another part with the same keys, whose table needs no query that the first one's has not. `in total` counts only
   * over all groups together, which have no keys but the part's; rows have 0.
   */
  countsSessions?: true | 'in total' | GroupPart;
  /** By name; numbers as float8, which is exact to 2^53. */
  aggregates: Readonly<Record<Exclude<keyof Aggregates & string, 'sessions'>, SQL> & { sessions?: SQL }>;
  /** The existence of rows, by aggregates of the parts' columns; totals cover all rows. */
  having?: SQL;
  /** Sort order after the time, as names of aggregates of `g`. */
  order: SQL;
  /**
   * The same order as non-negative aggregates of the first part's table, so reports by session then need not sum all
   * rows.
   */
  ranking?: readonly SQL[];
  toFigures(aggregates: Aggregates): Figures;
}

/** Rows of a report by the requested keys, the same figures over all rows, and the number of rows. */
export async function readGroups<Aggregates, Figures, Keys = unknown>(
  database: Database,
  filter: ReportFilter,
  page: ReportPage,
  query: GroupQuery<Aggregates, Figures>,
): Promise<ReportRows<Figures & GroupValues & Keys, Figures> & { groupCount: number }> {
  const { groupBy = [], limit } = page;
  const [first, ...others] = query.parts;
  const scope = await createScope(database, filter, groupBy, query.parts);
  let foundPage: FoundPage | undefined;
  if (groupBy.includes('hour')) foundPage = await findHours(database, scope, limit, first);
  else if (query.ranking !== undefined && isBySession(scope)) {
    foundPage = await findSessions(database, scope, limit, first, query.ranking);
  }
  if (foundPage === undefined) return await readAllGroups<Aggregates, Figures, Keys>(database, scope, limit, query);
  const { narrow, until, sessionCount } = foundPage;
  const { totals } = await readAllGroups<Aggregates, Figures>(
    database,
    await createScope(database, filter, [], query.parts),
    1,
    query,
    sessionCount,
  );
  const rows = await readAllGroups<Aggregates, Figures, Keys>(database, { ...scope, until }, limit, {
    ...query,
    parts: [narrow(first), ...others.map(narrow)],
  });
  return { ...rows, totals };
}

async function readAllGroups<Aggregates, Figures, Keys = unknown>(
  database: Database,
  scope: ReportScope,
  limit: number,
  query: GroupQuery<Aggregates, Figures>,
  sessionCount?: number,
): Promise<ReportRows<Figures & GroupValues & Keys, Figures> & { groupCount: number }> {
  const { parts, countsSessions, having, order, toFigures } = query;
  const [first] = parts;
  const names = [...scope.groupBy, ...Object.keys(first.keys ?? {})];
  const [firstName] = names;
  const isTotal = firstName === undefined ? sql`true` : sql`(GROUPING(${sql.identifier(firstName)}) = 1)`;
  const columnNames = Object.keys(first.columns);
  const allAggregates: Record<string, SQL> = { ...query.aggregates };
  const isEachOne = countsSessions !== undefined && having === undefined && isBySession(scope) && names.length === 1;
  const selects = parts.map((part, index) => toSelect(part, columnNames, scope, isEachOne && index === 0));
  const queries: SQL[] = [];
  if (countsSessions !== undefined) {
    let ofAll = sql`NULL`;
    const { keys: _keys, ...firstWithoutKeys } = first;
    const counted = countsSessions === 'in total' ? firstWithoutKeys : first;
    const part = typeof countsSessions === 'object' ? countsSessions : counted;
    if (sessionCount !== undefined) ofAll = sql`${sessionCount}::float8`;
    else if (!isEachOne) {
      const counts = countSessions(part, scope);
      ofAll = counts.ofAll;
      queries.push(...counts.queries);
      if (counts.byKeys !== undefined) selects.push(toCountRows(counts.byKeys, names, columnNames));
    }
    allAggregates.sessions = sql`CASE WHEN ${isTotal} THEN ${ofAll} ELSE coalesce(max(session_count), 0) END::float8`;
  }
  const toOutput = (name: string): SQL =>
    isEachOne && name === 'sessions'
      ? sql`CASE WHEN g.is_total THEN coalesce(sum(g.sessions) OVER (), 0) ELSE g.sessions END`
      : sql`g.${sql.identifier(name)}`;
  const { rows } = await database.execute<Record<string, unknown>>(sql`
    ${withQueries(parts, scope, queries)}
    SELECT ${toList(allAggregates, toOutput)}, (count(*) OVER ())::float8 - 1 AS group_count
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
      ${sql.join(names.map((name) => sql`, ${toPlace(name, scope)} NULLS FIRST`))}
    LIMIT ${limit + 2}`);
  const [total = {}, ...groupRows] = rows;
  const shown = firstName === undefined ? [total] : groupRows;
  return {
    rows: shown.slice(0, limit).map((row) => {
      const values = Object.fromEntries(names.map((name) => [name, row[`key_${name}`] ?? null]));
      return { ...values, ...toFigures(row as Aggregates) } as Figures & GroupValues & Keys;
    }),
    totals: toFigures(total as Aggregates),
    truncated: shown.length > limit,
    groupCount: Number(total.group_count ?? 0),
  };
}

/**
 * Aggregates of a part's rows by its keys, unordered, with keys as in reports. With `ids`, JSON arrays of the values of
 * all keys, only for these.
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

/**
 * Number of different sessions of each group that has no keys but the part's own, by the JSON array of the keys'
 * values.
 */
export async function readSessionCounts(
  database: Database,
  filter: ReportFilter,
  part: GroupPart & { keys: Readonly<Record<string, SQL>> },
): Promise<Map<string, number>> {
  const scope = { ...filter, groupBy: [] };
  const names = Object.keys(part.keys);
  const { rows } = await database.execute<Record<string, unknown> & { session_count: number }>(sql`
    ${withQueries([part], scope)}
    SELECT ${toNameList(names)}, count(*)::float8 AS session_count FROM (${selectSessionKeys(part, scope)}) AS k
    GROUP BY ${toNameList(names)}`);
  return new Map(rows.map((row) => [JSON.stringify(names.map((name) => row[name])), row.session_count]));
}

export async function createScope(
  database: Database,
  filter: ReportFilter,
  groupBy: readonly ReportKey[],
  parts: readonly [Pick<GroupPart, 'source' | 'table'>, ...Pick<GroupPart, 'table'>[]],
): Promise<ReportScope> {
  const isRolledUp = parts.some(({ table }) => typeof table === 'function');
  const [{ source }] = parts;
  const calendar = groupBy.some(isTimeKey) ? await readCalendar(database, filter, source.timeColumn) : undefined;
  const listsSessions = isRolledUp && isShort(filter) && groupBy.some(isAttributionKey);
  const scope = { ...filter, groupBy, calendar, listsSessions };
  return isRolledUp ? { ...scope, sessionDays: await findSessionDays(database, scope) } : scope;
}

/** The value that orders groups with equal figures by a key. */
function toPlace(name: string, { hiddenOrder }: ReportScope): SQL {
  const value = sql`g.${sql.identifier(name)}`;
  return hiddenOrder?.kinds.has(PERSON_FIELDS.get(name)) ? sql`md5(${hiddenOrder.salt}::text || ${value})` : value;
}

/** True if each group is one session. */
const isBySession = ({ groupBy }: ReportScope): boolean => groupBy.join() === 'session';

/** Numbers of sessions by keys, as rows among the parts' rows. */
const toCountRows = (byKeys: SQL, names: readonly string[], columnNames: readonly string[]): SQL => sql`
  SELECT ${toNameList(names)}, ${sql.join(columnNames.map(() => sql`NULL, `))} session_count FROM (${byKeys}) AS counted`;

function toList(aggregates: Readonly<Record<string, SQL>>, toSql: (name: string) => SQL): SQL {
  return sql.join(
    Object.keys(aggregates).map((name) => sql`${toSql(name)} AS ${sql.identifier(name)}`),
    sql`, `,
  );
}
