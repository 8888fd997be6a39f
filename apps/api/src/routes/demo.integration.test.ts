import type {
  PersonList,
  PlanList,
  SignedIn,
  TeamList,
  TranscriptList,
  Whoami,
  WorkspaceList,
} from '@recount/contract';
import { createApiKey } from '@recount/db';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
let operator: { authorization: string };
let nowMs = Date.parse('2026-11-27T15:20:00Z');

beforeAll(async () => {
  api = await createTestApi({}, () => ({ now: () => nowMs }));
  const key = { workspaceId: HOME_WORKSPACE, name: 'operator', scopes: ['operator' as const] };
  operator = { authorization: `Bearer ${(await createApiKey(api.database.database, key)).key}` };
});
afterAll(() => api.close());

type Ask = (path: string, method?: string) => Promise<Response>;

/** Asks as the browser does that the answer has signed in. */
async function toBrowser(response: Response): Promise<Ask> {
  expect(response.status).toBe(200);
  const { page } = (await response.json()) as SignedIn;
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';', 1);
  const headers = { cookie, 'recount-request': '1', 'sec-fetch-site': 'same-origin' };
  return (path, method = 'GET') => fetch(`${api.url}/signed-in/${page}${path}`, { method, headers });
}

const openDemo = async (): Promise<Ask> =>
  toBrowser(await fetch(`${api.url}/v1/demo`, { method: 'POST', headers: operator }));
const readWhoami = async (ask: Ask): Promise<Whoami> => (await (await ask('/v1/whoami')).json()) as Whoami;
const countStored = async (): Promise<number> =>
  (await api.database.pool.query('SELECT FROM recount.transcripts')).rowCount ?? 0;
/** Names of the tables with a row of this workspace, besides the audit log, which is kept. */
async function listTablesOf(workspaceId: string): Promise<string[]> {
  const { rows: tables } = await api.database.pool.query<{ name: string }>(`
    SELECT table_name AS name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_schema = 'recount' AND column_name = 'workspace_id' AND table_type = 'BASE TABLE'
      AND table_name <> 'audit_log' ORDER BY 1`);
  const found: string[] = [];
  for (const { name } of tables) {
    const query = `SELECT FROM recount."${name}" WHERE workspace_id = $1 LIMIT 1`;
    if ((await api.database.pool.query(query, [workspaceId])).rowCount !== 0) found.push(name);
  }
  return found;
}
const listNames = async (): Promise<string[]> => {
  const response = await fetch(`${api.url}/v1/workspaces`, { headers: operator });
  return ((await response.json()) as WorkspaceList).workspaces.map(({ name }) => name);
};

it('makes the demo once a day, beside other workspaces, and its own sign-in deletes it', async () => {
  await expectProblem(await api.fetch('/v1/demo', { method: 'POST' }), 403, 'missing-scope');
  const ask = await openDemo();
  const demo = await readWhoami(ask);
  expect(demo).toMatchObject({ workspace: 'demo', is_demo: true, scopes: ['read', 'admin'] });
  const count = await countStored();
  expect(count).toBeGreaterThan(200);
  const { transcripts } = (await (await ask('/v1/transcripts')).json()) as TranscriptList;
  expect(transcripts.length).toBeGreaterThan(0);
  const { transcripts: own } = (await (await api.fetch('/v1/transcripts')).json()) as TranscriptList;
  expect(own).toEqual([]);

  const team = (await (await ask('/v1/teams')).json()) as TeamList;
  expect(team.teams.map(({ members, lead }) => [members, lead !== null])).toEqual(Array(3).fill([4, true]));
  const { people } = (await (await ask('/v1/people')).json()) as PersonList;
  expect(people).toHaveLength(12);
  const { plans } = (await (await ask('/v1/plans')).json()) as PlanList;
  expect(plans.length).toBeGreaterThan(0);

  nowMs += 60_000;
  const again = await openDemo();
  expect((await readWhoami(again)).workspace_id).toBe(demo.workspace_id);
  expect(await countStored()).toBe(count);
  await expectProblem(await ask('/v1/whoami'), 401, 'invalid-key');

  nowMs += 25 * 3_600_000;
  const later = await openDemo();
  const { workspace_id: laterId } = await readWhoami(later);
  expect(laterId).not.toBe(demo.workspace_id);
  expect(await listTablesOf(demo.workspace_id)).toEqual([]);
  expect(await listTablesOf(laterId)).toEqual(
    expect.arrayContaining(['budgets', 'people', 'team_memberships', 'teams', 'transcripts', 'workspace_settings']),
  );
  expect(await listNames()).toEqual(['demo', 'home', 'other']);

  await expectProblem(await api.fetch('/v1/demo', { method: 'DELETE' }), 404, 'not-found');
  expect((await later('/v1/demo', 'DELETE')).status).toBe(204);
  expect(await listNames()).toEqual(['home', 'other']);
  expect(await countStored()).toBe(0);
  expect(await listTablesOf(laterId)).toEqual([]);
  await expectProblem(await later('/v1/whoami'), 401, 'invalid-key');
});

it('leaves alone a workspace that users have named like it', async () => {
  const body = JSON.stringify({ name: 'demo' });
  const headers = { ...operator, 'content-type': 'application/json' };
  expect((await fetch(`${api.url}/v1/workspaces`, { method: 'POST', headers, body })).status).toBe(201);
  expect(await readWhoami(await openDemo())).toMatchObject({ workspace: 'demo 2', is_demo: true });
});

it('accepts nothing, so that nothing of a user disappears with it, and keeps its name', async () => {
  const demo = await readWhoami(await openDemo());
  const key = { workspaceId: demo.workspace_id, name: 'mine', scopes: ['admin' as const, 'ingest' as const] };
  const { key: secret } = await createApiKey(api.database.database, key);
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const count = await countStored();
  for (const [path, method] of [
    ['/v1/transcripts?session_id=s', 'POST'],
    ['/v1/sessions/s/live?path=a.jsonl', 'POST'],
    ['/v1/sessions/s/attachments?path=x', 'PUT'],
  ] as const) {
    const body = '{"type":"user","message":{"content":"x"}}\n';
    await expectProblem(await fetch(`${api.url}${path}`, { method, headers, body }), 403, 'missing-scope');
  }
  const approval = JSON.stringify({ user_code: 'BCDFGHJK', scopes: ['ingest'] });
  const approve = await fetch(`${api.url}/v1/device/approve`, { method: 'POST', headers, body: approval });
  await expectProblem(approve, 403, 'missing-scope');
  const rename = await fetch(`${api.url}/v1/workspaces/${demo.workspace_id}/name`, {
    ...{ method: 'PUT', headers: { ...operator, 'content-type': 'application/json' } },
    body: JSON.stringify({ name: 'team' }),
  });
  await expectProblem(rename, 409, 'default-workspace');
  expect(await countStored()).toBe(count);
});

it('is made once by operators who open it at the same time, also if it is out of date', async () => {
  nowMs += 25 * 3_600_000;
  const opened = await Promise.all(
    Array.from({ length: 2 }, () => fetch(`${api.url}/v1/demo`, { method: 'POST', headers: operator })),
  );
  expect(opened.map(({ status }) => status)).toEqual([200, 200]);
  const { rowCount } = await api.database.pool.query('SELECT FROM recount.workspaces WHERE demo_ends_at IS NOT NULL');
  expect(rowCount).toBe(1);
});
