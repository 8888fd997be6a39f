import type { ApiKeySecret, WorkspaceList } from '@recount/contract';
import { createApiKey, listAuditEntries } from '@recount/db';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
let operator: { id: string; key: string };

beforeAll(async () => {
  api = await createTestApi();
  const key = { workspaceId: HOME_WORKSPACE, name: 'operator', scopes: ['operator' as const] };
  operator = await createApiKey(api.database.database, key);
});
afterAll(() => api.close());

const ask = (path: string, method = 'GET', body?: object, key = operator.key): Promise<Response> =>
  api.fetch(path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
const list = async () => ((await (await ask('/v1/workspaces')).json()) as WorkspaceList).workspaces;

it('creates, lists and renames workspaces', async () => {
  const created = await ask('/v1/workspaces', 'POST', { name: '  research ' });
  expect(created.status).toBe(201);
  const { id } = (await created.json()) as { id: string };
  await expectProblem(await ask('/v1/workspaces', 'POST', { name: 'research' }), 409, 'name-taken');
  await expectProblem(await ask('/v1/workspaces', 'POST', { name: ' ' }), 400, 'invalid-request');
  expect((await list()).map(({ name, api_key_count }) => [name, api_key_count])).toEqual([
    ['home', 4],
    ['other', 1],
    ['research', 0],
  ]);
  await expectProblem(await ask(`/v1/workspaces/${id}/name`, 'PUT', { name: 'home' }), 409, 'name-taken');
  await expectProblem(await ask('/v1/workspaces/nobody/name', 'PUT', { name: 'x' }), 404, 'not-found');
  const renamed = await ask(`/v1/workspaces/${id}/name`, 'PUT', { name: 'research 2' });
  expect(await renamed.json()).toMatchObject({ id, name: 'research 2' });

  const named = (await (await ask('/v1/workspaces', 'POST', { name: 'default' })).json()) as { id: string };
  await expectProblem(await ask(`/v1/workspaces/${named.id}/name`, 'PUT', { name: 'x' }), 409, 'default-workspace');

  const entries = await listAuditEntries(api.database.database, id, {}, { limit: 10 });
  expect(entries.map(({ action, actor }) => [action, actor])).toEqual([
    ['workspace.rename', `key:${operator.id}`],
    ['workspace.create', `key:${operator.id}`],
  ]);
});

it('shows an operator nothing but names, and lets them make no key', async () => {
  await expectProblem(await ask('/v1/keys', 'POST', { name: 'more', scopes: ['read'] }), 403, 'missing-scope');
  for (const path of ['/v1/sessions', '/v1/keys', '/v1/settings', '/v1/audit', '/v1/checks']) {
    await expectProblem(await ask(path), 403, 'missing-scope');
  }
});

it('does not let an admin make themselves an operator, or take one away', async () => {
  const body = { name: 'more', scopes: ['operator'] };
  await expectProblem(await ask('/v1/keys', 'POST', body, api.keys.admin), 400, 'invalid-request');
  const rotation = `/v1/keys/${operator.id}/rotate`;
  await expectProblem(await ask(rotation, 'POST', {}, api.keys.admin), 403, 'missing-scope');
  const revocation = await ask(`/v1/keys/${operator.id}`, 'DELETE', undefined, api.keys.admin);
  const { detail } = await expectProblem(revocation, 403, 'missing-scope');
  expect(detail).toBe('Only a key with the scope operator can change a key that has it');
  const { keys } = (await (await ask('/v1/keys', 'GET', undefined, api.keys.admin)).json()) as {
    keys: { id: string }[];
  };
  expect(keys.map(({ id }) => id)).toContain(operator.id);

  const both = { workspaceId: HOME_WORKSPACE, name: 'both', scopes: ['admin' as const, 'operator' as const] };
  const { key } = await createApiKey(api.database.database, both);
  const rotated = (await (await ask(rotation, 'POST', {}, key)).json()) as ApiKeySecret;
  expect((await ask('/v1/workspaces', 'GET', undefined, rotated.key)).status).toBe(200);
  const spare = await createApiKey(api.database.database, { ...both, name: 'spare' });
  expect((await ask(`/v1/keys/${spare.id}`, 'DELETE', undefined, key)).status).toBe(204);
});
