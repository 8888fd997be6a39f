import type { Session, SessionList } from '@recount/contract';
import type { ApiClient, ApiRequest } from '../connection/api-client.ts';
import { listPages } from '../connection/list-pages.ts';

/** The fields of a session that a table may show. Older servers may lack the optional ones. */
export type SessionFigures = Pick<
  Session,
  | 'session_id'
  | 'agent'
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
  | 'api_response_count'
  | 'initial_prompt'
  | 'title'
  | 'project'
  | 'git_branch'
  | 'models'
  | 'duration_ms'
  | 'first_timestamp'
  | 'last_timestamp'
  | 'other_uploader_count'
  | 'tool_error_count'
  | 'api_error_count'
> &
  Partial<Session>;

/** A page of sessions, and whether there are more. */
export interface LatestSessions {
  sessions: SessionFigures[];
  hasMore: boolean;
}

/** Reads the sessions with the latest activity. Rejects with a DeliveryError. */
export async function readLatestFromApi(client: ApiClient, limit: number): Promise<LatestSessions> {
  return await readSessions(client, { sort: 'last_timestamp', order: 'desc', limit });
}

const PAGE_LIMIT = 500;

/** All sessions of a list, page by page. */
export async function* listSessions(
  client: ApiClient,
  path: string,
  filter: Record<string, string> = {},
): AsyncGenerator<Session, void> {
  const pages = listPages((cursor) =>
    client.request<SessionList>(path, { query: { ...filter, limit: PAGE_LIMIT, cursor } }),
  );
  for await (const { sessions } of pages) yield* sessions;
}

/** The sub-agents of these sessions, and their sub-agents, on all levels. Yields none of the given ones, and each once. */
export async function* listDescendants(
  client: ApiClient,
  sessions: readonly Pick<Session, 'session_id'>[],
): AsyncGenerator<Session, void> {
  // A set also iterates over what the loop adds to it. A transcript may claim that a session is its own sub-agent, or
  // its sub-agent's.
  const known = new Set(sessions.map(({ session_id: id }) => id));
  for (const id of known) {
    for await (const subagent of listSessions(client, `/v1/sessions/${encodeURIComponent(id)}/subagents`)) {
      if (known.has(subagent.session_id)) continue;
      known.add(subagent.session_id);
      yield subagent;
    }
  }
}

export async function readSessions(
  client: ApiClient,
  query: NonNullable<ApiRequest['query']>,
): Promise<LatestSessions> {
  const list = await client.request<SessionList>('/v1/sessions', { query });
  return { sessions: list?.sessions ?? [], hasMore: list?.next_cursor != null };
}
