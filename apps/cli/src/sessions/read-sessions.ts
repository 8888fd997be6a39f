import type { Session, SessionList } from '@recount/contract';
import { type Database, listSessions } from '@recount/db';
import type { ApiClient } from '../connection/api-client.ts';

/** What the table shows of a session. */
export type SessionFigures = Pick<
  Session,
  | 'session_id'
  | 'is_subagent'
  | 'parent_session_id'
  | 'agent_id'
  | 'total_messages'
  | 'tokens_in'
  | 'tokens_out'
  | 'cache_read'
  | 'cache_write'
  | 'cost_estimate_usd'
  | 'unpriced_count'
  | 'initial_prompt'
  | 'title'
  | 'project'
  | 'first_timestamp'
  | 'last_timestamp'
  | 'uploader_key_id'
  | 'other_uploader_count'
>;

/** The sessions with the latest activity, and whether there are more. */
export interface LatestSessions {
  sessions: SessionFigures[];
  hasMore: boolean;
}

export async function readLatestFromDatabase(
  database: Database,
  workspaceId: string,
  limit: number,
): Promise<LatestSessions> {
  const page = { sort: 'last_timestamp', order: 'desc', limit } as const;
  const { rows, next } = await listSessions(database, workspaceId, {}, page);
  return { sessions: rows, hasMore: next !== undefined };
}

/** Rejects with a BackfillTargetError. */
export async function readLatestFromApi(client: ApiClient, limit: number): Promise<LatestSessions> {
  const query = { sort: 'last_timestamp', order: 'desc', limit };
  const list = await client.request<SessionList>('/v1/sessions', { query });
  return { sessions: list?.sessions ?? [], hasMore: list?.next_cursor != null };
}
