import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { createDatabasePool, type DatabasePool, findWorkspaceByName } from '@recount/db';
import { receiveTranscript } from '@recount/ingest';
import { workJobs } from '@recount/ingest/testing/work-jobs';
import { createTestDatabase } from '@recount/local-postgres/testing';
import { createFolderRawStore } from '@recount/storage';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
let database: DatabasePool;
let directory: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = createDatabasePool({ connectionString: testDatabase.connectionString });
  directory = await mkdtemp(join(tmpdir(), 'recount-cli-'));
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
  await rm(directory, { recursive: true });
});

async function run(...commandLine: string[]) {
  const environment = { DATABASE_URL: testDatabase.connectionString, RECOUNT_RAW_STORE: directory };
  const context = createFakeContext({ environment });
  const exitCode = await runCommandLine(context, commandLine);
  return { exitCode, out: context.out(), err: context.err() };
}

async function ingest(workspaceId: string): Promise<void> {
  const rawStore = createFolderRawStore({ directory });
  const line = { type: 'user', sessionId: 's', timestamp: '2020-01-01T00:00:00Z', message: { content: 'hello' } };
  async function* body() {
    yield Buffer.from(`${JSON.stringify(line)}\n`);
  }
  await receiveTranscript({ database, rawStore }, { workspaceId, uploaderKeyId: null, body: body(), maxBytes: 1000 });
  await workJobs({ database, rawStore }, { maxLineBytes: 1000 });
}

it('creates a workspace, sets its retention, deletes by age, and deletes the workspace', async () => {
  expect(await run('workspaces', 'create', 'research')).toMatchObject({ exitCode: 0 });
  expect(await run('workspaces', 'create', 'research')).toMatchObject({ exitCode: 1 });
  expect((await run('workspaces', 'list')).out).toMatch(/^ID +NAME\n\w{26} {2}research\n$/);
  const place = ['--workspace', 'research'];
  expect((await run('settings', 'show', ...place)).out).toBe(
    'redaction     off\nrows-max-age  never\nraw-max-age   never\ntext-readers  readers\nnames-from    always\n',
  );
  const set = await run('settings', 'set', '--redaction', 'rows', '--rows-max-age', '30', ...place);
  expect(set.out).toBe(
    [
      ...['redaction     rows', 'rows-max-age  30 days', 'raw-max-age   never'],
      ...['text-readers  readers', 'names-from    always', ''],
    ].join('\n'),
  );
  expect(set.err).toContain('requeue --outdated');
  const change = await run('settings', 'set', '--rows-max-age', 'never', '--raw-max-age', '7', '--json', ...place);
  expect(change).toMatchObject({ exitCode: 0, err: '' });
  expect(JSON.parse(change.out)).toEqual({
    ...{ redaction: 'rows', rowsMaxAgeDays: null, rawMaxAgeDays: 7, textReaders: 'readers', namesFromPeople: null },
  });
  const access = ['settings', 'set', '--text-readers', 'auditors', '--names-from'];
  expect((await run(...access, '8', ...place)).out).toContain('text-readers  auditors\nnames-from    8 people\n');
  expect((await run(...access, 'always', ...place)).out).toContain('names-from    always\n');
  expect(await run('settings', 'set', '--raw-max-age', '0', ...place)).toMatchObject({ exitCode: 2 });
  expect(await run('settings', 'set', ...place)).toMatchObject({ exitCode: 2 });

  const workspace = await findWorkspaceByName(database.database, 'research');
  await ingest(workspace?.id ?? '');
  expect((await run('retain', '--dry-run')).out).toMatch(
    /^research: messages of 0 sessions, 1 raw .* would be deleted\n$/,
  );
  expect(JSON.parse((await run('retain', '--json', ...place)).out)).toMatchObject({ rawObjects: 1, dryRun: false });
  expect((await run('retain')).out).toMatch(/^research: messages of 0 sessions, 0 raw .* deleted\n$/);

  expect(await run('workspaces', 'delete', 'research')).toMatchObject({ exitCode: 2 });
  expect(await run('workspaces', 'delete', 'research', '--yes')).toMatchObject({ exitCode: 0 });
  expect(await run('workspaces', 'delete', 'research', '--yes')).toMatchObject({ exitCode: 1 });
  expect((await run('workspaces', 'list', '--json')).out).toBe('[]\n');
  const left = await readdir(directory, { recursive: true, withFileTypes: true });
  expect(left.filter((entry) => entry.isFile())).toEqual([]);
});

it('names the operator in the audit log, and rotates keys with an expiry', async () => {
  const place = ['--workspace', 'audited'];
  const created = await run('keys', 'create', '--name', 'ci', '--expires', '90d', '--json', ...place);
  const { id, key, expires_at: expiresAt } = JSON.parse(created.out);
  expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(89 * 86_400_000);
  const rotated = await run('keys', 'rotate', id, '--grace', '1d', '--json', ...place);
  expect(JSON.parse(rotated.out)).toMatchObject({ id, expires_at: expiresAt, previous_expires_at: expect.any(String) });
  expect((await run('keys', 'list', ...place)).out).toContain(`…${JSON.parse(rotated.out).key.slice(-4)}`);
  await run('settings', 'set', '--redaction', 'rows', ...place);
  await run('prices', 'set', '--currency', 'EUR', ...place);
  await run('keys', 'revoke', id, ...place);
  expect(await run('keys', 'rotate', id, ...place)).toMatchObject({ exitCode: 1, out: '' });
  const { entries } = JSON.parse((await run('audit', '--json', ...place)).out) as {
    entries: Record<string, unknown>[];
  };
  expect(entries.map(({ action }) => action)).toEqual([
    'key.revoke',
    'prices.change',
    'settings.change',
    'key.rotate',
    'key.create',
    'workspace.create',
  ]);
  expect(new Set(entries.map(({ actor }) => actor))).toEqual(new Set([`operator:${userInfo().username}`]));
  expect((await run('audit', '--subject', id, ...place)).out).not.toContain(key);
  expect((await run('keys', 'create', '--name', 'late', '--expires', '2020-01-01', ...place)).exitCode).toBe(2);
});
