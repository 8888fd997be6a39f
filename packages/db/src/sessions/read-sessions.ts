import type { SessionTotals } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { and, asc, desc, eq, ilike, isNotNull, lte, type PgColumn, type PgTable, type SQL, sql } from '../drizzle.cjs';
import { isOneOf } from '../filters/attributed-to.ts';
import { hasOneOf, hasTextsOf, hasWork, isOfPeople, type PeopleFilter } from '../filters/report-filter.ts';
import { showPeople } from '../people/show-people.ts';
import { fileDayRollup, indexedPath, toolDayRollup } from '../schema/rollups.ts';
import { sessionAnnotations } from '../schema/session-annotations.ts';
import { knownCost, lastActivity, OPERATOR, sessions, transcripts } from '../schema/transcripts.ts';
import { sessionEvents, usageEntries, usageLedger } from '../schema/usage.ts';
import { selectFirstCopies } from '../usage/event-copies.ts';
import { hasErrors } from './session-errors.ts';

export type SessionRow = typeof sessions.$inferSelect;

export async function findSession(
  database: Database,
  workspaceId: string,
  sessionId: string,
): Promise<SessionRow | undefined> {
  const [row] = await database
    .select()
    .from(sessions)
    .where(and(eq(sessions.workspace_id, workspaceId), eq(sessions.session_id, sessionId)));
  return row;
}

type CallColumn = 'tool_name' | 'program' | 'mcp_server' | 'skill_name' | 'subagent_type';

/** Names are full ones; a session has one of each list. */
export interface SessionFilter {
  agent?: readonly string[] | undefined;
  project?: readonly string[] | undefined;
  branch?: readonly string[] | undefined;
  repository?: readonly string[] | undefined;
  machine?: readonly string[] | undefined;
  person?: readonly string[] | undefined;
  attributed?: PeopleFilter['attributed'];
  /** Only sessions whose texts are of someone with one of these names. */
  onlyNames?: readonly string[] | undefined;
  model?: readonly string[] | undefined;
  kindOfWork?: readonly string[] | undefined;
  /** Sessions with activity at or after `from` and before `to`; ISO 8601. */
  from?: string | undefined;
  to?: string | undefined;
  /** Part of the first prompt, ignoring case. */
  prompt?: string | undefined;
  parentSessionId?: string | undefined;
  isSubagent?: boolean | undefined;
  /** A single call that matches all these conditions, on a UTC day that overlaps `from` to `to`. */
  calls?: Partial<Record<CallColumn, string | undefined>>;
  /** Path of a file that a tool read or changed; same days as `calls`. */
  file?: string | undefined;
  /** URL of a pull request that the session is linked to. */
  pullRequest?: string | undefined;
  /** US dollars, inclusive; applies to the cost of the session's transcript. */
  minCostUsd?: number | undefined;
  maxCostUsd?: number | undefined;
  /** True: that people have starred; false: the others. */
  isStarred?: boolean | undefined;
  /** Sessions with any of these tags. */
  tags?: readonly string[] | undefined;
  /** True if tool calls or API requests failed in it. */
  hasErrors?: boolean | undefined;
}

const SORT_KEYS = {
  last_timestamp: lastActivity(sessions.last_timestamp),
  first_timestamp: lastActivity(sessions.first_timestamp),
  cost_estimate_usd: knownCost(sessions.cost_estimate_usd),
  tokens_out: sessions.tokens_out,
  total_messages: sessions.total_messages,
  duration_ms: sessions.duration_ms,
} satisfies Record<string, SQL | PgColumn>;

export type SessionSort = keyof typeof SORT_KEYS;
export const SESSION_SORTS = Object.keys(SORT_KEYS) as SessionSort[];

/** The end of a page (the sort key of its last row, as Postgres prints it, and that row's session). */
export interface SessionCursor {
  sortKey: string;
  sessionId: string;
}

export interface SessionPage {
  sort: SessionSort;
  order: 'asc' | 'desc';
  limit: number;
  after?: SessionCursor | undefined;
}

/** A page of a workspace's sessions, and the next page's cursor if there is one. */
export async function listSessions(
  database: Database,
  workspaceId: string,
  filter: SessionFilter,
  page: SessionPage,
): Promise<{ rows: SessionRow[]; next: SessionCursor | undefined }> {
  const sortKey = SORT_KEYS[page.sort];
  const direction = page.order === 'asc' ? asc : desc;
  const pageRows = await database
    .select({ row: sessions, sortKey: sql<string>`(${sortKey})::text` })
    .from(sessions)
    .where(
      and(eq(sessions.workspace_id, workspaceId), ...toConditions(filter, workspaceId), toPageCondition(sortKey, page)),
    )
    .orderBy(direction(sortKey), direction(sessions.session_id))
    .limit(page.limit + 1);
  const rows = pageRows.slice(0, page.limit).map(({ row }) => row);
  const last = pageRows.length > page.limit ? pageRows[page.limit - 1] : undefined;
  return { rows, next: last && { sortKey: last.sortKey, sessionId: last.row.session_id } };
}

/** The sums over all sessions of a workspace that pass a filter. Reads a row of each. */
export async function sumSessions(
  database: Database,
  workspaceId: string,
  filter: SessionFilter,
): Promise<SessionTotals> {
  const sumOf = (column: PgColumn) => sql<number | null>`sum(${column})`.mapWith(Number);
  const countOf = (column: PgColumn) => sql<number>`coalesce(sum(${column}), 0)`.mapWith(Number);
  const [row] = await database
    .select({
      sessions: sql<number>`count(*)`.mapWith(Number),
      total_messages: countOf(sessions.total_messages),
      user_messages: countOf(sessions.user_messages),
      tool_use_count: countOf(sessions.tool_use_count),
      tokens_in: sumOf(sessions.tokens_in),
      tokens_out: sumOf(sessions.tokens_out),
      cache_read: sumOf(sessions.cache_read),
      cache_write: sumOf(sessions.cache_write),
      cost_estimate_usd: sumOf(sessions.cost_estimate_usd),
      unpriced_count: countOf(sessions.unpriced_count),
      output_only_count: countOf(sessions.output_only_count),
    })
    .from(sessions)
    .where(and(eq(sessions.workspace_id, workspaceId), ...toConditions(filter, workspaceId)));
  if (row === undefined) throw new Error('An aggregate without a row');
  return row;
}

function toConditions(filter: SessionFilter, workspaceId: string): (SQL | undefined)[] {
  const equals = (column: PgColumn, value: string | boolean | undefined) =>
    value === undefined ? undefined : eq(column, value);
  return [
    filter.agent && isOneOf(sql`${sessions.agent}`, filter.agent),
    filter.project && isOneOf(sql`${sessions.project}`, filter.project),
    filter.branch && isOneOf(sql`${sessions.git_branch}`, filter.branch),
    filter.repository && isOneOf(sql`${sessions.repository}`, filter.repository),
    filter.machine && isOneOf(sql`${sessions.machine}`, filter.machine),
    isOfPeople(filter, sql`${sessions.person}`, sql`${sessions.first_timestamp}`),
    hasTextsOf({ workspaceId, onlyNames: filter.onlyNames }, sql`${sessions.session_id}`),
    equals(sessions.parent_session_id, filter.parentSessionId),
    equals(sessions.is_subagent, filter.isSubagent),
    filter.model && hasOneOf(sql`${sessions.models}`, filter.model),
    filter.kindOfWork && hasWork(sql`${sessions.session_id}`, workspaceId, filter.kindOfWork),
    hasCalls(filter, workspaceId, toolDayRollup, filter.calls ?? {}),
    hasCalls(filter, workspaceId, fileDayRollup, { file_path: filter.file }),
    filter.pullRequest === undefined ? undefined : isLinkedTo(workspaceId, filter.pullRequest),
    filter.minCostUsd === undefined ? undefined : sql`${SORT_KEYS.cost_estimate_usd} >= ${filter.minCostUsd}`,
    filter.maxCostUsd === undefined ? undefined : lte(sessions.cost_estimate_usd, filter.maxCostUsd),
    filter.isStarred === undefined
      ? undefined
      : sql`${hasAnnotation(workspaceId, sql`a.is_starred`)} = ${filter.isStarred}`,
    filter.tags && hasAnnotation(workspaceId, sql`a.tags && ${sql.param([...filter.tags])}::text[]`),
    filter.hasErrors === undefined ? undefined : sql`${hasErrors(workspaceId)} = ${filter.hasErrors}`,
    // In a form that the indexes of activity serve.
    filter.from === undefined
      ? undefined
      : and(sql`${SORT_KEYS.last_timestamp} >= ${filter.from}`, isNotNull(sessions.last_timestamp)),
    filter.to === undefined
      ? undefined
      : and(sql`${SORT_KEYS.first_timestamp} < ${filter.to}`, isNotNull(sessions.first_timestamp)),
    filter.prompt === undefined ? undefined : ilike(sessions.initial_prompt, `%${escapeLike(filter.prompt)}%`),
  ];
}

const hasAnnotation = (workspaceId: string, condition: SQL): SQL => sql`(${sessions.session_id} IN (
  SELECT a.session_id FROM ${sessionAnnotations} AS a WHERE a.workspace_id = ${workspaceId} AND ${condition}))`;

/** The earliest copy of a link counts. */
const isLinkedTo = (workspaceId: string, url: string): SQL => sql`${sessions.session_id} IN (
  SELECT session_id FROM (${selectFirstCopies(
    sql`SELECT * FROM ${sessionEvents} WHERE workspace_id = ${workspaceId} AND kind = 'pull_request' AND name = ${url}`,
    workspaceId,
  )}) AS link)`;

/** Sessions with a matching row in a daily roll-up; undefined if there is no condition. */
function hasCalls(
  { from, to }: SessionFilter,
  workspaceId: string,
  rollup: PgTable,
  wanted: Readonly<Record<string, string | undefined>>,
): SQL | undefined {
  const conditions = Object.entries(wanted).flatMap(([column, value]) =>
    value === undefined
      ? []
      : [
          sql`r.${sql.identifier(column)} = ${value}`,
          ...(column === 'file_path'
            ? [sql`${indexedPath(sql`r.file_path`)} = ${indexedPath(sql`${value}::text`)}`]
            : []),
        ],
  );
  if (conditions.length === 0) return undefined;
  if (from !== undefined)
    conditions.push(sql`r.last_bucket_start >= date_bin('15 minutes', ${from}::timestamptz, '2000-01-01Z')`);
  if (to !== undefined) conditions.push(sql`r.first_bucket_start < ${to}::timestamptz`);
  return sql`${sessions.session_id} IN (
    SELECT r.session_id FROM ${rollup} AS r WHERE r.workspace_id = ${workspaceId} AND ${sql.join(conditions, sql` AND `)})`;
}

function toPageCondition(sortKey: SQL | PgColumn, page: SessionPage): SQL | undefined {
  if (page.after === undefined) return undefined;
  const { sortKey: value, sessionId } = page.after;
  const type = page.sort.endsWith('_timestamp') ? sql`timestamptz` : sql`numeric`;
  const comparison = page.order === 'asc' ? sql`>` : sql`<`;
  return sql`(${sortKey}, ${sessions.session_id}) ${comparison} (${value}::${type}, ${sessionId})`;
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

/** The uploader of a session's data, and disputes of others about it. */
interface SessionTrust {
  /**
   * Who uploaded its transcripts, including superseded ones, in the order of their first upload; null stands for
   * unknown uploaders.
   */
  uploader_key_ids: (string | null)[];
  /**
   * Who uploaded its primary transcript, if that is neither its person nor the operator, and before them everyone else
   * whose version of it is longer than its owner's; each once, in the order of upload.
   */
  extended_by: { uploader_key_id: string | null; machine: string | null; person: string | null }[];
  /** Number of its responses whose copies disagree. */
  disagreeing_response_count: number;
  /** Sub-agents that claim to be this session's but were uploaded by another uploader. */
  other_uploader_subagent_count: number;
}

export async function readSessionTrust(
  database: Database,
  workspaceId: string,
  sessionId: string,
): Promise<SessionTrust> {
  const { rows } = await database.execute<SessionTrust & Record<string, unknown>>(sql`
    WITH RECURSIVE contained AS (
      SELECT t.id, t.size_bytes, t.uploader_key_id, t.machine, t.person,
        t.uploader_key_id <> s.uploader_key_id AND t.uploader_key_id <> ${OPERATOR}
          AND (t.person IS NULL OR t.person IS DISTINCT FROM s.person) AS is_foreign,
        true AS is_primary
      FROM ${sessions} AS s
      JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id
      WHERE s.workspace_id = ${workspaceId} AND s.session_id = ${sessionId}
      UNION
      SELECT t.id, t.size_bytes, t.uploader_key_id, t.machine, t.person,
        t.uploader_key_id <> s.uploader_key_id AND t.uploader_key_id <> ${OPERATOR}
          AND (t.person IS NULL OR t.person IS DISTINCT FROM s.person),
        false
      FROM contained AS longer
      JOIN ${transcripts} AS t ON t.superseded_by = longer.id
      JOIN ${sessions} AS s ON s.workspace_id = t.workspace_id AND s.session_id = t.session_id
      WHERE t.workspace_id = ${workspaceId} AND t.session_id = ${sessionId}
        AND s.workspace_id = ${workspaceId} AND s.session_id = ${sessionId}
    ),
    extension AS (
      SELECT uploader_key_id, machine, person, min(id) AS first_id FROM contained
      WHERE is_foreign
        AND (SELECT primary_version.is_foreign FROM contained AS primary_version WHERE primary_version.is_primary)
        AND size_bytes > ALL (SELECT own.size_bytes FROM contained AS own WHERE own.is_foreign IS NOT TRUE)
      GROUP BY uploader_key_id, machine, person
    )
    SELECT
      ARRAY(
        SELECT uploader_key_id FROM ${transcripts}
        WHERE workspace_id = ${workspaceId} AND session_id = ${sessionId}
        GROUP BY uploader_key_id ORDER BY min(id)
      ) AS uploader_key_ids,
      COALESCE((
        SELECT jsonb_agg(
          jsonb_build_object('uploader_key_id', uploader_key_id, 'machine', machine, 'person', person)
          ORDER BY first_id
        ) FROM extension
      ), '[]') AS extended_by,
      (
        SELECT count(DISTINCT (e.agent, e.response_key))::int
        FROM ${transcripts} AS t
        JOIN ${usageEntries} AS e ON e.workspace_id = t.workspace_id AND e.row_set_id = t.row_set_id
        JOIN ${usageLedger} AS l
          ON l.workspace_id = e.workspace_id AND l.agent = e.agent AND l.response_key = e.response_key
          AND l.disagreements IS NOT NULL
        WHERE t.workspace_id = ${workspaceId} AND t.session_id = ${sessionId}
      ) AS disagreeing_response_count,
      (
        SELECT count(*)::int
        FROM ${sessions} AS s
        JOIN ${sessions} AS c ON c.workspace_id = s.workspace_id AND c.parent_session_id = s.session_id
        WHERE s.workspace_id = ${workspaceId} AND s.session_id = ${sessionId}
          AND c.uploader_key_id <> s.uploader_key_id
      ) AS other_uploader_subagent_count`);
  const [row] = rows;
  if (row === undefined) throw new Error('An aggregate without a row');
  return { ...row, extended_by: await showPeople(database, workspaceId, row.extended_by) };
}
