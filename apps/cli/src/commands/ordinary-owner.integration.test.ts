import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dropDatabase, toDatabaseUrl, withClient } from '@recount/local-postgres';
import { isOnCitus } from '@recount/local-postgres/testing';
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { INTERRUPTED_EXIT_CODE, InterruptedError } from '../terminal/interruption.ts';
import { createFakeContext } from '../testing/fake-context.ts';
import { startRecount } from '../testing/recount-process.ts';

/** Commands on a separate database, as the role that owns it and has only these attributes. */
async function createOwner(attributes: string) {
  const { serverUrl } = inject('postgres');
  // As cloud providers name them, with a character that needs quotes.
  const name = `test-${randomBytes(8).toString('hex')}`;
  const directory = await mkdtemp(join(tmpdir(), 'recount-owner-'));
  await withClient(serverUrl, async (client) => {
    await client.query(`CREATE ROLE "${name}" LOGIN PASSWORD 'secret' NOSUPERUSER ${attributes}`);
    await client.query(`CREATE DATABASE "${name}" OWNER "${name}"`);
  });
  onTestFinished(async () => {
    await dropDatabase(serverUrl, name);
    await withClient(serverUrl, (client) => client.query(`DROP ROLE "${name}"`));
    await rm(directory, { recursive: true });
  });
  const url = new URL(toDatabaseUrl(serverUrl, name));
  if (url.hostname === '') {
    url.searchParams.set('user', name);
    url.searchParams.set('password', 'secret');
  } else {
    url.username = name;
    url.password = 'secret';
  }
  const environment = {
    RECOUNT_DATA_DIR: join(directory, 'none'),
    RECOUNT_RAW_STORE: join(directory, 'raw'),
    DATABASE_URL: url.href,
    NO_COLOR: '1',
  };
  const type = async (...commandLine: string[]) => {
    const context = createFakeContext({ environment });
    const exitCode = await runCommandLine(context, commandLine);
    return { exitCode, out: context.out(), err: context.err() };
  };
  const listReaders = () =>
    withClient(serverUrl, async (client) => {
      const { rows } = await client.query<{ rolname: string }>(
        `SELECT rolname FROM pg_roles AS r WHERE rolname LIKE 'recount_sql_%' AND EXISTS (
           SELECT FROM pg_shdepend AS d JOIN pg_database AS b ON b.oid = d.dbid
           WHERE d.refobjid = r.oid AND b.datname = '${name}')`,
      );
      return rows;
    });
  return { type, listReaders, serverUrl, name, environment };
}

describe.skipIf(isOnCitus())('a role that owns the database and is no superuser', () => {
  it.each(['NOCREATEROLE', 'CREATEROLE'])('migrates, creates keys, verifies and checks with %s', async (attributes) => {
    const { type } = await createOwner(attributes);
    for (const command of [
      ['migrate'],
      ['migrate'],
      ['keys', 'create', '--name', 'ci', '--scopes', 'ingest,read'],
      ['doctor'],
      ['verify'],
    ]) {
      expect({ command, ...(await type(...command)) }).toMatchObject({ command, exitCode: 0 });
    }
  });

  it('reads all tables with amcheck once an administrator has let it', async () => {
    const { type, serverUrl, name } = await createOwner('NOCREATEROLE');
    await type('migrate');
    expect((await type('doctor', '--deep')).out).toContain('let a superuser run CREATE EXTENSION amcheck');
    await withClient(toDatabaseUrl(serverUrl, name), async (client) => {
      await client.query('CREATE EXTENSION amcheck SCHEMA public');
      await client.query(`GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO "${name}"`);
    });
    expect(await type('doctor', '--deep')).toMatchObject({
      exitCode: 0,
      err: expect.stringContaining('All tables and B-tree indexes of the database were read.'),
    });
  });

  it('queries with CREATEROLE, and leaves no role behind', async () => {
    const { type, listReaders } = await createOwner('CREATEROLE');
    await type('migrate');
    for (const name of ['one', 'two']) await type('keys', 'create', '--name', name, '--workspace', name);
    for (const scope of [['--workspace', 'one'], ['--all-workspaces']]) {
      const asked = await type('sql', ...scope, 'SELECT count(*) FROM sessions');
      expect(asked).toMatchObject({ exitCode: 0, err: '' });
    }
    expect(await listReaders()).toEqual([]);
  });

  it('ends a query that takes an advisory lock, lets it make no temporary table, and deletes its large objects', async () => {
    const { type, listReaders, serverUrl, name } = await createOwner('CREATEROLE');
    await type('migrate');
    const makeTable = 'BEGIN READ WRITE; CREATE TEMPORARY TABLE filled AS SELECT 1 AS one; COMMIT';
    expect(await type('sql', makeTable)).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('permission denied to create temporary tables'),
    });
    const makeObject = 'BEGIN READ WRITE; SELECT lo_create(0); COMMIT';
    expect(await type('sql', makeObject)).toMatchObject({ exitCode: 0 });
    await withClient(toDatabaseUrl(serverUrl, name), async (client) => {
      expect((await client.query('SELECT FROM pg_largeobject_metadata')).rowCount).toBe(0);
    });
    expect(await type('sql', 'SELECT pg_advisory_lock(1), pg_sleep(600)')).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('or an advisory lock'),
    });
    expect(await listReaders()).toEqual([]);
    expect(await type('verify')).toMatchObject({ exitCode: 0 });
  });

  it('leaves no role behind when the reader of its output closes the pipe', async () => {
    const { type, listReaders, environment } = await createOwner('CREATEROLE');
    await type('migrate');
    const query = `SELECT repeat('x', 100) FROM generate_series(1, 100000)`;
    const { child, exited } = startRecount(tmpdir(), ['sql', '--csv', query], { environment });
    child.stdout?.destroy();
    expect(await exited).toBe(0);
    expect(await listReaders()).toEqual([]);
  });

  it.each([[], ['--write']])(
    'ends the statement and drops the role when interrupted, with options %j',
    async (...scope) => {
      const { type, listReaders, serverUrl, name, environment } = await createOwner('CREATEROLE');
      await type('migrate');
      const context = createFakeContext({ environment });
      const ended = runCommandLine(context, ['sql', ...scope, 'SELECT pg_sleep(600)']);
      const countRunning = () =>
        withClient(serverUrl, async (client) => {
          const running = `SELECT FROM pg_stat_activity WHERE datname = $1 AND state = 'active' AND query LIKE '%pg_sleep%'`;
          return (await client.query(running, [name])).rowCount;
        });
      await vi.waitFor(async () => expect(await countRunning()).toBe(1));
      context.interruption.abort(new InterruptedError());
      expect(await ended).toBe(INTERRUPTED_EXIT_CODE);
      // Reported shortly before the backend is idle.
      await expect.poll(countRunning).toBe(0);
      expect(await listReaders()).toEqual([]);
    },
  );

  it('learns what `recount sql` needs without CREATEROLE', async () => {
    const { type } = await createOwner('NOCREATEROLE');
    await type('migrate');
    expect(await type('sql', 'SELECT 1')).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('Let it have CREATEROLE'),
    });
  });
});
