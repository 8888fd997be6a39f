import { type SQL, sql } from '../drizzle.cjs';
import { isOneOf } from '../filters/attributed-to.ts';
import { hasOneOf, hasWork, isOfPeople, type ReportFilter } from '../filters/report-filter.ts';
import { kindOfTurn } from '../usage/rollup-definitions.ts';

/** Times of roll-ups, events and responses, and sessions. Events alone are grouped by `timestamp`. */
export type TimeColumn = 'bucket_start' | 'timestamp' | 'first_timestamp';

/** Columns of a table (or of the sessions that it is joined with, alias `s`) that filters and groups use. */
export interface ReportSource {
  time: SQL;
  timeColumn: TimeColumn;
  /** Local clock time, if rows have it, expressed as if it were UTC. */
  localTime?: SQL;
  /** Has an index, and is `time` where available. */
  indexedTime?: SQL;
  sessionId: SQL;
  workspaceId: SQL;
  isSubagent: SQL;
  gitBranch: SQL;
  agentVersion: SQL;
  /** Absent if rows have no model; then the session's models are used. */
  model?: SQL;
  /** Absent if rows are of no turn; then the session's kinds are used. */
  kindOfWork?: SQL;
  /** Alias of rows of the ledger, or of entries, whose turns tell their kinds of work. */
  turns?: string;
  tool?: SQL;
  toolKind?: SQL;
}

/** The source of a table under `alias`, without columns that only its session has. */
export function toReportSource(alias: string, columns: { time: TimeColumn; own?: readonly OwnColumn[] }): ReportSource {
  const column = (name: string, table = alias) => sql.raw(`${table}."${name}"`);
  const has = (name: OwnColumn) => columns.own?.includes(name) === true;
  return {
    time: column(columns.time),
    timeColumn: columns.time,
    ...(columns.time === 'bucket_start' && { localTime: column('local_time') }),
    sessionId: column('session_id'),
    workspaceId: column('workspace_id'),
    isSubagent: column('is_subagent'),
    gitBranch: has('git_branch') ? column('git_branch') : column('git_branch', 's'),
    agentVersion: has('agent_version') ? column('agent_version') : column('agent_version', 's'),
    ...(has('model') && { model: column('model') }),
    ...(has('kind_of_work') && { kindOfWork: column('kind_of_work') }),
    ...(has('turn_line') && { turns: alias }),
    ...(has('tool_name') && { tool: column('tool_name') }),
    ...(has('tool_kind') && { toolKind: column('tool_kind') }),
  };
}

type OwnColumn = 'git_branch' | 'agent_version' | 'model' | 'kind_of_work' | 'turn_line' | 'tool_name' | 'tool_kind';

/** Joins the sessions of a source, as `s`. Postgres omits the join if nothing refers to it. */
export const joinSessions = (
  source: Pick<ReportSource, 'sessionId'>,
  { workspaceId }: Pick<ReportFilter, 'workspaceId'>,
): SQL =>
  sql`LEFT JOIN recount.sessions AS s ON s.workspace_id = ${workspaceId} AND s.session_id = ${source.sessionId}`;

const MAX_LOOKED_UP_MS = 100 * 24 * 60 * 60_000;

/** True if a filter's time has few enough sessions to look them up one by one instead of reading all. */
export const isShort = ({ from, to }: Pick<ReportFilter, 'from' | 'to'>): boolean =>
  from !== null && (to === null ? Date.now() : Date.parse(to)) - Date.parse(from) <= MAX_LOOKED_UP_MS;

/**
 * Ends a LATERAL subquery. In a short time, each of its rows is looked up by itself; in a long one, PostgreSQL may join
 * all rows of the workspace together.
 */
export const lookUpIfShort = (filter: Pick<ReportFilter, 'from' | 'to'>): SQL =>
  isShort(filter) ? sql`OFFSET 0` : sql``;

/** The conditions of a filter, for a WHERE. */
export function toConditions(filter: ReportFilter, source: ReportSource): SQL {
  const { from, to, agent, project, repository, gitBranch, machine, model, sessionId, subagents, tool, kindOfWork } =
    filter;
  const conditions = [sql`${source.workspaceId} = ${filter.workspaceId}`];
  const times = source.indexedTime !== undefined && isShort(filter) ? [source.time, source.indexedTime] : [source.time];
  for (const time of times) {
    if (from !== null) conditions.push(sql`${time} >= ${from}::timestamptz`);
    if (to !== null) conditions.push(sql`${time} < ${to}::timestamptz`);
  }
  if (agent !== undefined) conditions.push(isOneOf(sql`s.agent`, agent));
  if (project !== undefined) conditions.push(isOneOf(sql`s.project`, project));
  if (repository !== undefined) conditions.push(isOneOf(sql`s.repository`, repository));
  if (machine !== undefined) conditions.push(isOneOf(sql`s.machine`, machine));
  const ofPeople = isOfPeople(filter, sql`s.person`, source.time);
  if (ofPeople !== undefined) conditions.push(ofPeople);
  if (gitBranch !== undefined) conditions.push(isOneOf(source.gitBranch, gitBranch));
  if (model !== undefined) {
    conditions.push(source.model === undefined ? hasOneOf(sql`s.models`, model) : isOneOf(source.model, model));
  }
  if (kindOfWork !== undefined) {
    const { workspaceId } = filter;
    const own = source.turns === undefined ? source.kindOfWork : kindOfTurn(source.turns, workspaceId);
    conditions.push(own === undefined ? hasWork(source.sessionId, workspaceId, kindOfWork) : isOneOf(own, kindOfWork));
  }
  if (sessionId !== undefined) conditions.push(sql`${source.sessionId} = ${sessionId}`);
  if (tool !== undefined && source.tool !== undefined) conditions.push(sql`${source.tool} = ${tool}`);
  if (subagents === 'only') conditions.push(source.isSubagent);
  if (subagents === 'exclude') conditions.push(sql`NOT ${source.isSubagent}`);
  return sql.join(conditions, sql` AND `);
}
