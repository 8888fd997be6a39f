import type { Database } from '../database/database.ts';
import { and, asc, desc, eq, gte, ilike, lt, type PgColumn, type SQL, sql } from '../drizzle.cjs';
import { knownCost, lastActivity, sessions } from '../transcripts/schema.ts';
import type { SessionRow } from './find-session.ts';

export interface SessionFilter {
  agent?: string | undefined;
  project?: string | undefined;
  branch?: string | undefined;
  model?: string | undefined;
  /** Sessions with activity at or after `from` and before `to`; ISO 8601. */
  from?: string | undefined;
  to?: string | undefined;
  /** Part of the first prompt, in any case. */
  prompt?: string | undefined;
  parentSessionId?: string | undefined;
  isSubagent?: boolean | undefined;
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

/** Where a page ends: the sort key of its last row, as Postgres prints it, and that row's session. */
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

/** A page of a workspace's sessions, and the cursor of the next one where there is one. */
export async function listSessions(
  database: Database,
  workspaceId: string,
  filter: SessionFilter,
  page: SessionPage,
): Promise<{ rows: SessionRow[]; next: SessionCursor | undefined }> {
  const sortKey = SORT_KEYS[page.sort];
  const direction = page.order === 'asc' ? asc : desc;
  const found = await database
    .select({ row: sessions, sortKey: sql<string>`(${sortKey})::text` })
    .from(sessions)
    .where(and(eq(sessions.workspace_id, workspaceId), ...toConditions(filter), toPageCondition(sortKey, page)))
    .orderBy(direction(sortKey), direction(sessions.session_id))
    .limit(page.limit + 1);
  const rows = found.slice(0, page.limit).map(({ row }) => row);
  const last = found.length > page.limit ? found[page.limit - 1] : undefined;
  return { rows, next: last && { sortKey: last.sortKey, sessionId: last.row.session_id } };
}

function toConditions(filter: SessionFilter): (SQL | undefined)[] {
  const equals = (column: PgColumn, value: string | boolean | undefined) =>
    value === undefined ? undefined : eq(column, value);
  return [
    equals(sessions.agent, filter.agent),
    equals(sessions.project, filter.project),
    equals(sessions.git_branch, filter.branch),
    equals(sessions.parent_session_id, filter.parentSessionId),
    equals(sessions.is_subagent, filter.isSubagent),
    filter.model === undefined ? undefined : sql`${filter.model} = ANY(${sessions.models})`,
    filter.from === undefined ? undefined : gte(sessions.last_timestamp, filter.from),
    filter.to === undefined ? undefined : lt(sessions.first_timestamp, filter.to),
    filter.prompt === undefined ? undefined : ilike(sessions.initial_prompt, `%${escapeLike(filter.prompt)}%`),
  ];
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
