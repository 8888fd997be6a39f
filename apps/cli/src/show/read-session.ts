import type { DocumentQuery, Message, MessageList, Session, SessionDetail, SessionList } from '@recount/contract';
import type { ApiClient } from '../connection/api-client.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';

/** A session with its messages, and its sub-agents' messages. */
export interface LoadedSession {
  session: Session;
  messages: Message[];
  /** True if there are more messages or sub-agents than are loaded. Named as in the JSON output. */
  is_cut: boolean;
  subagents: LoadedSession[];
}

/** Further messages are left out, because they would not fit into memory. */
const MAX_MESSAGES = 20_000;
const MAX_SUBAGENTS = 50;
const PAGE_LIMIT = 500;

/** Reads a session by its id or a prefix of it. Throws UsageError if there is none. */
export async function readSession(client: ApiClient, name: string): Promise<SessionDetail> {
  const session = await client.request<SessionDetail>(`/v1/sessions/${encodeURIComponent(name)}`);
  if (session === undefined) throw new UsageError(`There is no session ${name}.`);
  return session;
}

/** Reads the whole conversation of a session, including all its sub-agents' conversations if requested. */
export async function loadSession(
  client: ApiClient,
  session: Session,
  { hasSubagents, signal }: { hasSubagents: boolean; signal: AbortSignal },
  known: Set<string> = new Set(),
): Promise<LoadedSession> {
  known.add(session.session_id);
  const path = `/v1/sessions/${encodeURIComponent(session.session_id)}`;
  const messages: Message[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: PAGE_LIMIT, cursor };
    const page = await client.request<MessageList>(`${path}/messages`, { query, signal });
    messages.push(...(page?.messages ?? []));
    cursor = page?.next_cursor ?? undefined;
  } while (cursor !== undefined && messages.length < MAX_MESSAGES);
  const query = { sort: 'first_timestamp', order: 'asc', limit: MAX_SUBAGENTS };
  const children = hasSubagents ? await client.request<SessionList>(`${path}/subagents`, { query, signal }) : undefined;
  const subagents: LoadedSession[] = [];
  let isCut = cursor !== undefined || typeof children?.next_cursor === 'string';
  for (const child of children?.sessions ?? []) {
    // A transcript may claim that a session is its own sub-agent, or its sub-agent's.
    if (known.has(child.session_id)) continue;
    if (known.size > MAX_SUBAGENTS) isCut = true;
    else subagents.push(await loadSession(client, child, { hasSubagents, signal }, known));
  }
  return { session, messages, is_cut: isCut, subagents };
}

/** The session as one HTML, Markdown or JSON document. */
export async function readDocument(
  client: ApiClient,
  { session_id: id }: Pick<Session, 'session_id'>,
  query: DocumentQuery,
): Promise<string> {
  const path = `/v1/sessions/${encodeURIComponent(id)}/document`;
  const document = await client.request<unknown>(path, { query: query as Record<string, string | undefined> });
  if (document === undefined) throw new CliError(`${client.place.url} cannot make documents. Is it an older version?`);
  return typeof document === 'string' ? document : `${JSON.stringify(document, null, 2)}\n`;
}
