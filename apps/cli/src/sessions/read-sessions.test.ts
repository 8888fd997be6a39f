import type { SessionList } from '@recount/contract';
import { expect, it } from 'vitest';
import type { ApiClient } from '../connection/api-client.ts';
import { listDescendants } from './read-sessions.ts';

const CHILDREN: Readonly<Record<string, readonly string[]>> = { root: ['a', 'root', 'b'], a: ['c'], c: ['d', 'a'] };

/** Answers with one sub-agent in a page. */
const client = {
  request: async (path: string, { query }: { query: { cursor?: string } }): Promise<SessionList> => {
    const ids = CHILDREN[path.split('/')[3] ?? ''] ?? [];
    const start = Number(query.cursor ?? 0);
    const sessions = ids.slice(start, start + 1).map((session_id) => ({ session_id }));
    return { sessions, next_cursor: start + 1 < ids.length ? String(start + 1) : null } as unknown as SessionList;
  },
} as unknown as ApiClient;

const list = async (...ids: string[]): Promise<string[]> => {
  const sessions = ids.map((session_id) => ({ session_id }));
  const found: string[] = [];
  for await (const { session_id: id } of listDescendants(client, sessions)) found.push(id);
  return found;
};

it('lists the sub-agents of sub-agents, each once, also where they are in a circle', async () => {
  expect(await list('root')).toEqual(['a', 'b', 'c', 'd']);
  expect(await list('root', 'c', 'd')).toEqual(['a', 'b']);
  expect(await list('unknown')).toEqual([]);
});
