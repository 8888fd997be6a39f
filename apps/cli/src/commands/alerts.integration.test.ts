import { createTestApi, HOME_WORKSPACE, type TestApi } from '@recount/api/testing/test-api';
import { listDeliveries, settleDelivery } from '@recount/db';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

let api: TestApi;

beforeAll(async () => {
  const alerts = { secretKey: Buffer.alloc(32, 5), mailServer: undefined, privateNetworks: ['127.0.0.0/8'] };
  api = await createTestApi({ alerts });
});
afterAll(() => api.close());

async function run(...commandArguments: string[]): Promise<{ exitCode: number; out: string; err: string }> {
  const context = createFakeContext({ environment: { RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.admin } });
  const exitCode = await runCommandLine(context, ['alerts', ...commandArguments]);
  return { exitCode, out: context.out(), err: context.err() };
}

describe('recount alerts', () => {
  it('adds destinations, shows none of their secrets, and removes them', async () => {
    expect((await run('add', 'none')).exitCode).toBe(2);
    const hook = await run('add', 'pager', '--webhook', 'http://127.0.0.1:9/hooks/secret-path');
    expect(hook.out).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/);
    expect((await run('add', 'mail', '--email', 'ada@example.org', '--email', 'bob@example.org')).out).toBe('');
    const internal = await run('add', 'internal', '--slack', 'https://10.0.0.1/services/T0');
    expect(internal).toMatchObject({ exitCode: 1, err: expect.stringContaining('internal address') });
    expect((await run('add', 'mail', '--email', 'eve@example.org')).err).toContain(
      'There is a destination mail already',
    );
    const { out } = await run('list');
    expect(out).toBe(
      'DESTINATION  KIND     TO\nmail         email    ada@example.org, bob@example.org\npager        webhook  127.0.0.1:9\n',
    );
    expect((await run('list', '--json')).out).not.toMatch(/secret-path|whsec/);
    expect(api.logLines.join('')).not.toMatch(/secret-path|whsec/);
    expect((await run('remove', 'pager', '--yes')).exitCode).toBe(0);
    expect((await run('test', 'pager')).err).toContain('There is no destination pager; there are mail.');
  });

  it('sends a test, shows what became of it, and retries what was given up', async () => {
    const { id } = JSON.parse((await run('test', 'mail', '--json')).out) as { id: string };
    expect((await run('deliveries', '--utc')).out).toMatch(new RegExp(`${id} .* mail +test +waiting +0 `));
    const { database } = api.database;
    const end = new Date().toISOString();
    const outcome = { state: 'failed' as const, attempts: 17, failure_reason: 'refused', next_attempt_at: end };
    await settleDelivery(database, { workspace_id: HOME_WORKSPACE, id }, { ...outcome, ended_at: end });
    expect((await run('deliveries', '--state', 'failed')).out).toContain('refused');
    expect((await run('retry', id)).exitCode).toBe(0);
    const [delivery] = await listDeliveries(database, HOME_WORKSPACE, {}, { limit: 1 });
    expect(delivery).toMatchObject({ id, state: 'waiting', attempts: 0 });
    expect(await run('retry', id)).toMatchObject({ exitCode: 1, err: expect.stringContaining('was given up') });
  });
});

it('stores no URL without a key, and says how to make one', async () => {
  const keyless = await createTestApi();
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'x', kind: 'slack', url: 'https://hooks.slack.com/services/T0' });
  const answer = await keyless.fetch('/v1/destinations', { method: 'POST', headers, body });
  expect(answer.status).toBe(409);
  expect(await answer.json()).toMatchObject({ detail: expect.stringContaining('openssl rand -base64 32') });
  await keyless.close();
});
