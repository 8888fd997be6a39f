import { type SQL, sql } from '../drizzle.cjs';
import { ROLLUPS, SESSION_TOTALS, type SessionTotalName, toTotalUnit } from '../schema/rollup-tables.ts';
import { sessionTotal } from '../schema/rollups.ts';
import { toCounted } from '../usage/session-totals.ts';
import { toDay, toDays } from '../usage/stale-days.ts';
import {
  fromPart,
  type GroupPart,
  joinReportedPeople,
  joinReportedSessions,
  listQueries,
  type NamedColumns,
  type RowsOfPart,
  toColumns,
  toKeys,
  toNameList,
  withSessions,
} from './group-part.ts';
import { isSessionKey, isTimeKey, type ReportKey, type ReportScope, toKey } from './report-keys.ts';

/**
 * If more days than this are stale or split, all sessions are counted from their rows, because each day is looked up by
 * itself.
 */
const MAX_SESSION_DAYS = 20;

/** Queries that count the distinct sessions of a part. */
export interface SessionCounts {
  /** For the WITH clause of the statement. */
  queries: SQL[];
  /** A scalar for the distinct sessions of all groups. */
  ofAll: SQL;
  /** A row for each group, with the keys, and `session_count`. Undefined without keys. */
  byKeys?: SQL;
}

/** Counts the distinct sessions of a part, from totals if they have what the scope asks for, and from the sessions' rows if not. */
export function countSessions(part: GroupPart, scope: ReportScope): SessionCounts {
  const names = toKeys(part, scope).map(([name]) => name);
  const days = findCountedDays(part, scope);
  if (part.counted !== undefined && days !== undefined) {
    const counted = { ...part, counted: part.counted };
    const countScope = { ...toCountScope(part, scope), onlySessionsOf: days };
    const sum = sql`sum(session_count)::bigint AS session_count`;
    return {
      queries: listQueries([part], countScope),
      ofAll: sql`(SELECT coalesce(sum(session_count), 0)::bigint FROM (${selectNewSessions(counted, countScope, days, [])}) AS new)`,
      ...(names.length > 0 && {
        byKeys: sql`
          SELECT ${toNameList(names)}, ${sum} FROM (${selectNewSessions(counted, countScope, days, names)}) AS new
          GROUP BY ${toNameList(names)}`,
      }),
    };
  }
  const queries = listCountQueries(part, scope);
  if (names.length === 0) return { queries, ofAll: countAllSessions(part, scope) };
  const countByKeys = (rows: SQL) =>
    sql`SELECT ${toNameList(names)}, count(*) AS session_count FROM ${rows} GROUP BY ${toNameList(names)}`;
  if (names.every((name) => isSessionKey(name, scope))) {
    return {
      queries: [
        ...queries,
        sql`session_counts AS MATERIALIZED (${countByKeys(sql`(${selectKeysOfSessions(part, scope)}) AS k`)})`,
      ],
      ofAll: sql`(SELECT coalesce(sum(session_count), 0)::bigint FROM session_counts)`,
      byKeys: sql`SELECT * FROM session_counts`,
    };
  }
  return {
    queries: [...queries, sql`session_keys AS MATERIALIZED (${selectSessionKeys(part, scope)})`],
    ofAll: sql`(SELECT count(*) FROM (SELECT DISTINCT counted_session FROM session_keys) AS session)`,
    byKeys: countByKeys(sql`session_keys`),
  };
}

/** A scalar for the distinct sessions of a part, ignoring all keys. */
const countAllSessions = ({ keys: _keys, ...part }: GroupPart, scope: ReportScope): SQL => sql`(
  SELECT count(*) FROM (${selectSessionKeys(part, { ...scope, groupBy: [] })}) AS session)`;

/** The distinct sessions of each group of a part. */
export const selectSessionKeys = (part: RowsOfPart, scope: ReportScope): SQL => sql`
  SELECT DISTINCT ${toColumns([...toKeys(part, scope), ['counted_session', part.source.sessionId]])}
  ${fromPart(part, toCountScope(part, scope))}`;

/**
 * The same if all keys are columns of the session. Each is looked up once, instead of for each of the session's rows.
 */
const selectKeysOfSessions = ({ keys: _keys, ...part }: GroupPart, scope: ReportScope): SQL => {
  const source = { ...part.source, sessionId: sql`k.counted_session` };
  return sql`
    SELECT ${toColumns(toKeys({ source }, scope))}, k.counted_session
    FROM (${selectSessionKeys(part, { ...scope, groupBy: [] })}) AS k ${joinReportedSessions(source, scope)} ${joinReportedPeople(source, scope)}`;
};

/**
 * The scope for the rows that sessions are counted from. Totals have no sessions, so the sessions' rows take their
 * place.
 */
const toCountScope = ({ table }: Pick<RowsOfPart, 'table'>, scope: ReportScope): ReportScope =>
  typeof table === 'function' && table(scope).hasTotals === true ? { ...withSessions(scope), isCounted: true } : scope;

/** Queries for the WITH clause that `countAllSessions` and `selectSessionKeys` need besides the parts' queries. */
function listCountQueries(part: RowsOfPart, scope: ReportScope): SQL[] {
  const countScope = toCountScope(part, scope);
  return countScope === scope ? [] : listQueries([part], countScope);
}

/**
 * The days where sessions must be counted from their rows; undefined if totals cannot count the part's sessions at all.
 */
function findCountedDays(part: GroupPart, scope: ReportScope): readonly string[] | undefined {
  const { counted } = part;
  const { sessionDays } = scope;
  if (counted === undefined || scope.subagents !== 'include') return undefined;
  if (scope.model !== undefined || scope.tool !== undefined) return undefined;
  if (sessionDays === undefined || sessionDays.kind !== 'whole') return undefined;
  const keys = toKeys(part, scope).flatMap(([name]) => (isTimeKey(name) ? [] : [name]));
  const { rollup, key } = SESSION_TOTALS[counted];
  if (keys.some((name) => name !== key)) return undefined;
  const days = sessionDays[toTotalUnit(ROLLUPS[rollup])];
  return days === undefined || days.length > MAX_SESSION_DAYS ? undefined : days;
}

/**
 * Rows of keys and numbers of sessions that are new in their group, that is, have no earlier row in it within the filter's
 * time range. A session whose first row in the group is on one of `days`, or has no time, is found by its own rows.
 */
function selectNewSessions(
  part: GroupPart & { counted: SessionTotalName },
  scope: ReportScope,
  days: readonly string[],
  names: readonly string[],
): SQL {
  const { workspaceId, from, to } = scope;
  const timeKeys = scope.groupBy.filter((key) => isTimeKey(key) && names.includes(key));
  const { localTime: _localTime, ...source } = part.source;
  const toTimeKey = (key: ReportKey, time: SQL) => toKey(key, { ...source, time }, scope);
  const [start, previous] = [sql`t.period_start`, sql`t.previous_bucket_start`];
  const isNew = [
    sql`${previous} IS NULL`,
    ...(from === null ? [] : [sql`${previous} < ${from}::timestamptz`]),
    ...timeKeys.map((key) => sql`${toTimeKey(key, previous)} <> ${toTimeKey(key, start)}`),
  ];
  const conditions = [
    sql`t.workspace_id = ${workspaceId}`,
    sql`t.counted = ${toCounted(part.counted, names.length > timeKeys.length)}`,
    ...(from === null ? [] : [sql`${start} >= ${from}::timestamptz`]),
    ...(to === null ? [] : [sql`${start} < ${to}::timestamptz`]),
    ...(days.length === 0 ? [] : [sql`${toDay('t.period_start')} <> ALL(${toDays(days)})`]),
    sql`(${sql.join(isNew, sql` OR `)})`,
  ];
  const keys = toKeys(part, scope).filter(([name]) => names.includes(name));
  const totalKeys = keys.map(([name]): [string, SQL] => [name, isTimeKey(name) ? toTimeKey(name, start) : sql`t.key`]);
  const list = (columns: NamedColumns) =>
    sql.join(columns.map(([name, value]) => sql`${value} AS ${sql.identifier(name)}, `));
  return sql`
    SELECT ${list(totalKeys)} t.sessions AS session_count FROM ${sessionTotal} AS t WHERE ${sql.join(conditions, sql` AND `)}
    UNION ALL
    SELECT ${sql.join(names.map((name) => sql`${sql.identifier(name)}, `))} 1 FROM (
      SELECT ${list(keys)} ${source.sessionId} AS counted_session, min(${source.time}) AS first_seen ${fromPart(part, scope)}
      GROUP BY ${sql.raw([...keys, 'session'].map((_, index) => index + 1).join(', '))}
    ) AS seen
    WHERE first_seen IS NULL OR ${toDay('first_seen')} = ANY(${toDays(days)})`;
}
