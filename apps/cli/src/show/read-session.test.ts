import type { Session, SessionList } from '@recount/contract';
import { expect, it } from 'vitest';
import type { ApiClient } from '../connection/api-client.ts';
import { type LoadedSession, loadSession } from './read-session.ts';

/** Answers with no messages, and with the sub-agents that each session has. */
const createClient = (subagents: Readonly<Record<string, readonly string[]>>): ApiClient => {
  const request = async (path: string): Promise<unknown> => {
    const id = path.split('/')[3] ?? '';
    if (path.endsWith('/messages')) return { messages: [], next_cursor: null };
    const sessions = (subagents[id] ?? []).map((session_id) => ({ session_id }));
    return { sessions, next_cursor: null } as unknown as SessionList;
  };
  return { request } as unknown as ApiClient;
};

const toIds = ({ session, subagents }: LoadedSession): string[] => [session.session_id, ...subagents.flatMap(toIds)];

const load = async (subagents: Readonly<Record<string, readonly string[]>>): Promise<LoadedSession> => {
  const options = { hasSubagents: true, signal: new AbortController().signal };
  return await loadSession(createClient(subagents), { session_id: 'root' } as Session, options);
};

it('loads the sub-agents of sub-agents, each once', async () => {
  const loaded = await load({ root: ['root', 'a', 'b'], a: ['c'], c: ['root', 'a', 'd'] });
  expect(toIds(loaded)).toEqual(['root', 'a', 'c', 'd', 'b']);
  expect(loaded.is_cut).toBe(false);
});

it('loads fifty of all sub-agents, and says where there are more', async () => {
  const many = Array.from({ length: 30 }, (_, index) => [`a${index}`, `b${index}`] as const);
  const loaded = await load({ root: many.map(([a]) => a), ...Object.fromEntries(many.map(([a, b]) => [a, [b]])) });
  expect(toIds(loaded)).toHaveLength(51);
  expect(loaded.is_cut).toBe(true);
});
