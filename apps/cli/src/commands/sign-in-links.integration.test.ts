import { createApiKey, createDatabasePool, type DatabasePool, ensureWorkspace, redeemSignInLink } from '@recount/db';
import { createTestDatabase } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

const URL_OPTION = ['--url', 'https://recount.example.com/'];

let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
let database: DatabasePool;
let workspaceId: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = createDatabasePool({ connectionString: testDatabase.connectionString });
  workspaceId = (await ensureWorkspace(database.database, '01J00000000000000000000001', 'default')).id;
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

async function run(...commandLine: string[]) {
  const context = createFakeContext({ environment: { DATABASE_URL: testDatabase.connectionString } });
  const exitCode = await runCommandLine(context, commandLine);
  return { exitCode, out: context.out(), err: context.err() };
}

const makeKey = (scopes: ('figures' | 'own' | 'ingest')[], subject?: string) =>
  createApiKey(database.database, {
    ...{ workspaceId, name: 'invited', scopes, person: 'ada@example.com' },
    ...(subject !== undefined && { account: { issuer: 'https://id.example', subject } }),
  });

it('prints a link that signs in once, whose page asks first', async () => {
  const { id } = await makeKey(['figures', 'own']);
  const { exitCode, out, err } = await run('keys', 'link', id, '--valid', '2h', ...URL_OPTION);
  expect(exitCode).toBe(0);
  const [, code = ''] = /^https:\/\/recount\.example\.com\/sign-in#([\w-]{43})&confirm\n$/.exec(out) ?? [];
  expect(err).toContain('It is shown this once');
  const sign = () => database.withTransaction((transaction) => redeemSignInLink(transaction, code, null));
  expect(await sign()).toMatchObject({ cookie: expect.stringMatching(/^rks_/) });
  expect(await sign()).toBeUndefined();
});

it('says why a key gets no link', async () => {
  const uploads = await makeKey(['ingest']);
  const account = await makeKey(['figures', 'own'], 'ada');
  for (const [id, reason] of [
    [uploads.id, 'may not read'],
    [account.id, 'signs in there'],
    ['01J0000000000000000000000X', 'has no key'],
  ] as const) {
    const { exitCode, err } = await run('keys', 'link', id, ...URL_OPTION);
    expect(exitCode).toBe(1);
    expect(err).toContain(reason);
  }
  const key = await makeKey(['figures', 'own']);
  expect(await run('keys', 'link', key.id)).toMatchObject({ exitCode: 2, err: expect.stringContaining('--url') });
  expect((await run('keys', 'link', key.id, ...URL_OPTION, '--valid', '8d')).err).toContain('5 minutes to 7 days');
});

it('lets an account sign in again, and no other key', async () => {
  const account = await makeKey(['figures', 'own'], 'grace');
  const other = await makeKey(['figures', 'own']);
  for (const { id } of [account, other]) expect((await run('keys', 'revoke', id)).exitCode).toBe(0);
  expect(await run('keys', 'restore', account.id)).toMatchObject({ exitCode: 0 });
  const refused = await run('keys', 'restore', other.id);
  expect(refused.exitCode).toBe(1);
  expect(refused.err).toContain('`recount keys create` gives access again');
  const list = JSON.parse((await run('keys', 'list', '--json')).out) as { id: string; revoked_at: string | null }[];
  expect(list.find(({ id }) => id === account.id)?.revoked_at).toBeNull();
  expect(list.find(({ id }) => id === other.id)?.revoked_at).not.toBeNull();
});
