import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { joinPeople } from '../filters/attributed-to.ts';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { SessionTotalName } from '../schema/rollup-tables.ts';
import { type ReportScope, toKey } from './report-keys.ts';
import { joinSessions, type ReportSource, toConditions } from './report-source.ts';
import type { ScopedTable, TableSource } from './rollup-source.ts';

/** Rows of a table that are aggregated. */
export interface GroupPart {
  source: ReportSource;
  /** Includes the source's alias. */
  table: SQL | TableSource;
  columns: Readonly<Record<string, SQL>>;
  /** If given, rows are summed together by the keys and these columns; the other columns are aggregates. */
  groupedColumns?: readonly string[];
  /** Additional keys of each row, by their column name. */
  keys?: Readonly<Record<string, SQL>>;
  /** Conditions in addition to the filter's. */
  where?: SQL;
  /** The name in `session_total` of the count of sessions with rows that pass `where`. */
  counted?: SessionTotalName;
}

/** A part's rows and their keys. */
export type RowsOfPart = Pick<GroupPart, 'source' | 'table' | 'keys' | 'where'>;

/** The part's rows that pass a condition. */
export const restrict = <Part extends GroupPart>({ counted: _counted, ...part }: Part, condition: SQL) => ({
  ...part,
  where: part.where === undefined ? condition : sql`${part.where} AND ${condition}`,
});

export type NamedColumns = [name: string, value: SQL][];

/** A part's keys, by their names in rows. */
export const toKeys = ({ source, keys }: Pick<RowsOfPart, 'source' | 'keys'>, scope: ReportScope): NamedColumns => [
  ...scope.groupBy.map((key): [string, SQL] => [key, toKey(key, source, scope)]),
  ...Object.entries(keys ?? {}),
];

/**
 * A query of a part's rows, or their sums, with columns ordered by name; `session_count` is 1 if each row belongs to
 * one session.
 */
export function toSelect(
  part: GroupPart,
  columnNames: readonly string[],
  scope: ReportScope,
  isOneSession: boolean,
): SQL {
  const { columns, groupedColumns } = part;
  const keys = toKeys(part, scope);
  const all = [...keys, ...columnNames.map((name): [string, SQL] => [name, columns[name] ?? sql`NULL`])];
  // By position, because the parameters within the keys would make them different expressions.
  const positions = [
    ...keys.map((_, index) => index + 1),
    ...(groupedColumns ?? []).map((name) => keys.length + columnNames.indexOf(name) + 1),
  ];
  return sql`
    SELECT ${toColumns(all)}, ${isOneSession ? sql`1` : sql`NULL`}::bigint AS session_count ${fromPart(part, scope)}
    ${groupedColumns === undefined || positions.length === 0 ? sql`` : sql`GROUP BY ${sql.raw(positions.join(', '))}`}`;
}

/** The scope for reading the sessions' rows instead of totals. */
export const withSessions = (scope: ReportScope): ReportScope => ({ ...scope, sessionDays: undefined });

/** Joins the sessions of a source, as `s`. */
export const joinReportedSessions = (source: Pick<ReportSource, 'sessionId'>, scope: ReportScope): SQL =>
  scope.listsSessions === true
    ? sql`LEFT JOIN reported_session AS s ON s.session_id = ${source.sessionId}`
    : joinSessions(source, scope);

/** Joins what the scope's keys need of the people of the sessions `s`. */
export const joinReportedPeople = (source: Pick<ReportSource, 'time'>, { groupBy, people }: ReportScope): SQL =>
  joinPeople(groupBy, { person: sql`s.person`, time: source.time }, people);

/**
 * The sessions of the parts' rows, for a WITH clause. In a large workspace, finding the sessions of a short time once
 * is faster than joining each part with all sessions.
 */
function listReportedSessions(parts: readonly RowsOfPart[], scope: ReportScope): SQL {
  const { workspaceId, timeZone, from, to } = scope;
  const time: ReportFilter = { workspaceId, timeZone, from, to, subagents: 'include' };
  const ids = parts.map(
    ({ source, table }) => sql`
      SELECT ${source.sessionId} AS session_id FROM ${typeof table === 'function' ? table(scope).table : table}
      WHERE ${toConditions(time, source)}`,
  );
  return sql`reported_session AS MATERIALIZED (
    SELECT s.* FROM (SELECT DISTINCT session_id FROM (${sql.join(ids, sql` UNION ALL `)}) AS part_session) AS seen CROSS JOIN LATERAL (
      SELECT session_id, agent, project, repository, person, machine, git_branch, agent_version, models FROM recount.sessions
      WHERE workspace_id = ${opaqueWorkspaceId(workspaceId)} AND session_id = seen.session_id OFFSET 0
    ) AS s)`;
}

/** FROM and WHERE clauses of a part. */
export const fromPart = ({ source, table, where }: RowsOfPart, scope: ReportScope): SQL => {
  const rows: ScopedTable = typeof table === 'function' ? table(scope) : { table };
  return sql`
    FROM ${rows.table} ${rows.sessions ?? joinReportedSessions(source, scope)} ${joinReportedPeople(source, scope)}
    WHERE ${toConditions(scope, source)} ${where === undefined ? sql`` : sql`AND ${where}`}`;
};

/** Queries for a WITH clause that the parts' tables need. */
export const listQueries = (parts: readonly Pick<GroupPart, 'table'>[], scope: ReportScope): SQL[] =>
  parts.flatMap(({ table }) => (typeof table === 'function' ? (table(scope).query ?? []) : []));

/** The WITH clause that the parts' tables need, followed by further queries. */
export function withQueries(parts: readonly RowsOfPart[], scope: ReportScope, queries: readonly SQL[] = []): SQL {
  const sessions = scope.listsSessions === true ? [listReportedSessions(parts, scope)] : [];
  const all = [...listQueries(parts, scope), ...sessions, ...queries];
  return all.length === 0 ? sql`` : sql`WITH ${sql.join(all, sql`, `)}`;
}

/** Values with their names, for a SELECT. */
export const toColumns = (columns: NamedColumns): SQL =>
  sql.join(
    columns.map(([name, value]) => sql`${value} AS ${sql.identifier(name)}`),
    sql`, `,
  );

/** Quoted names, with commas. */
export const toNameList = (names: readonly string[]): SQL =>
  sql.join(
    names.map((name) => sql.identifier(name)),
    sql`, `,
  );
