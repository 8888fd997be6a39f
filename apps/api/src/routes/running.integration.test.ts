import { type LiveList, liveListSchema } from '@recount/contract';
import { changeWorkspaceSettings, createApiKey, createPerson, deletePerson, rotateApiKey } from '@recount/db';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readApiConfig } from '../config.ts';
import { expectProblem } from '../testing/expect-problem.ts';
import { newTestStreamId, openLive } from '../testing/live-client.ts';
import { toStreamLines } from '../testing/stream-lines.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';

const HEARTBEAT_MS = 300;
const WAITING = { interval: 20 };

let api: TestApi;

beforeAll(async () => {
  const { live } = readApiConfig({ DATABASE_URL: 'postgres://x', RECOUNT_RAW_STORE: 'x' });
  api = await createTestApi({ live: { ...live, heartbeatMs: HEARTBEAT_MS } });
});
afterAll(() => api.close());

async function follow(key: string) {
  const controller = new AbortController();
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${api.url}/v1/live/events`, { headers, signal: controller.signal });
  const lists: LiveList[] = [];
  const read = async (): Promise<void> => {
    let rest = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, data] = /^event: running\ndata: (.*)$/.exec(block) ?? [];
        if (data !== undefined) lists.push(liveListSchema.parse(JSON.parse(data)));
      }
    }
  };
  const ended = response.ok ? read().catch(() => undefined) : Promise.resolve();
  return { response, lists, ended, close: () => controller.abort() };
}

it('lists the running sessions of a workspace, and of no other', async () => {
  const own = await follow(api.keys.read);
  const other = await follow(api.keys.other);
  await vi.waitFor(() => expect(own.lists.at(-1)).toEqual({ streams: [] }), WAITING);

  const session = '77777777-2222-4333-8444-555555555555';
  const live = openLive({ url: api.url, key: api.keys.ingest }, session, { 'recount-stream': newTestStreamId() });
  await live.write(toStreamLines(session).join(''));
  await vi.waitFor(() => expect(own.lists.at(-1)?.streams).toMatchObject([{ session_id: session }]), WAITING);
  live.end();
  await live.answer;
  await vi.waitFor(async () => {
    const streams = (await (await api.fetch('/v1/live?state=running')).json()) as LiveList;
    expect(own.lists.at(-1)).toEqual(streams);
  }, WAITING);
  expect(JSON.stringify(other.lists)).not.toContain(session);

  // The list comes again although nothing has changed.
  const count = other.lists.length;
  await vi.waitFor(() => expect(other.lists.length).toBeGreaterThan(count + 1), WAITING);
  own.close();
  other.close();
  await Promise.all([own.ended, other.ended]);
});

it('ends when its key is revoked, or when the workspace changes its policy', async () => {
  const { database } = api.database;
  const made = await createApiKey(database, { workspaceId: HOME_WORKSPACE, name: 'reads', scopes: ['read'] });
  const hidden = await follow(made.key);
  expect(hidden.response.status).toBe(200);
  await changeWorkspaceSettings(database, HOME_WORKSPACE, { namesFromPeople: 50 });
  await hidden.ended;
  const revoked = await follow(made.key);
  expect(revoked.response.status).toBe(200);
  expect((await api.fetch(`/v1/keys/${made.id}`, { method: 'DELETE' })).status).toBe(204);
  await revoked.ended;
  await expectProblem((await follow(made.key)).response, 401, 'invalid-key');
  await changeWorkspaceSettings(database, HOME_WORKSPACE, { namesFromPeople: null });
});

it('ends when its secret was replaced and the grace period is over', async () => {
  const { database } = api.database;
  const made = await createApiKey(database, { workspaceId: HOME_WORKSPACE, name: 'old', scopes: ['read'] });
  const reader = await follow(made.key);
  expect(reader.response.status).toBe(200);
  await rotateApiKey(database, HOME_WORKSPACE, made.id, { graceMs: 1, actor: 'system' });
  await reader.ended;
});

it('ends when the workspace has too few people to show names', async () => {
  const { database } = api.database;
  const scope = { workspaceId: HOME_WORKSPACE, actor: 'system' } as const;
  const id = await database.transaction((transaction) => createPerson(transaction, scope, { displayName: 'Ada' }));
  await changeWorkspaceSettings(database, HOME_WORKSPACE, { namesFromPeople: 1 });
  const reader = await follow(api.keys.read);
  expect(reader.response.status).toBe(200);
  await database.transaction((transaction) => deletePerson(transaction, scope, id));
  await reader.ended;
  await changeWorkspaceSettings(database, HOME_WORKSPACE, { namesFromPeople: null });
});

it('bounds the readers of a key, and disconnects them when the server stops', async () => {
  const readers = await Promise.all(Array.from({ length: 16 }, () => follow(api.keys.read)));
  expect(readers.every(({ response }) => response.status === 200)).toBe(true);
  const tooMany = await follow(api.keys.read);
  await expectProblem(tooMany.response, 429, 'too-many-readers');
  // Another key has separate limits.
  const admin = await follow(api.keys.admin);
  expect(admin.response.status).toBe(200);
  readers[0]?.close();
  await vi.waitFor(async () => {
    const next = await follow(api.keys.read);
    next.close();
    expect(next.response.status).toBe(200);
  }, WAITING);
  const closing = api.app.close();
  await Promise.all([admin, ...readers].map(({ ended }) => ended));
  // Connections of other requests, kept open for reuse.
  api.app.server.closeAllConnections();
  await closing;
});
