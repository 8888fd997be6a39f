import { isOnCitus } from '@recount/local-postgres/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { createDatabaseReader, type DatabaseReader, dropExpiredReaders } from './create-reader.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

async function connect({ user, password }: DatabaseReader): Promise<pg.Client> {
  const url = new URL(pool.connectionString);
  const client = new pg.Client({
    host: url.searchParams.get('host') ?? url.hostname,
    port: Number(url.port || url.searchParams.get('port') || 5432),
    database: url.pathname.slice(1),
    user,
    password,
  });
  client.on('error', () => {});
  await client.connect();
  return client;
}

const exists = async ({ user }: DatabaseReader): Promise<boolean> =>
  (await pool.pool.query('SELECT FROM pg_roles WHERE rolname = $1', [user])).rowCount === 1;

describe.skipIf(isOnCitus())('a reader', () => {
  it('is dropped with the statement that it runs', async () => {
    const reader = await createDatabaseReader(pool, TEST_WORKSPACE);
    const client = await connect(reader);
    const failure = client.query('SELECT pg_sleep(600) FROM sessions RIGHT JOIN (SELECT 1) AS one ON true').then(
      () => undefined,
      (error: { code?: string }) => error.code,
    );
    await vi.waitFor(async () => {
      const running = `SELECT FROM pg_stat_activity WHERE usename = $1 AND state = 'active'`;
      expect((await pool.pool.query(running, [reader.user])).rowCount).toBe(1);
    });
    await Promise.all([reader.drop(), reader.drop()]);
    expect(await failure).toBe('57P01');
    expect(await exists(reader)).toBe(false);
    await client.end().catch(() => undefined);
  });

  it('is valid for minutes only after its process was killed, and dropped once it has expired', async () => {
    const reader = await createDatabaseReader(pool, OTHER_WORKSPACE);
    const { rows } = await pool.pool.query<{ seconds: number }>(
      `SELECT extract(epoch FROM rolvaliduntil - now())::int AS seconds FROM pg_roles WHERE rolname = $1`,
      [reader.user],
    );
    expect(rows[0]?.seconds).toBeGreaterThan(30);
    expect(rows[0]?.seconds).toBeLessThanOrEqual(120);
    const client = await connect(reader);
    await client.query('SELECT FROM daily_usage');
    await expect(client.query('SELECT FROM analytics.daily_usage')).rejects.toMatchObject({ code: '42501' });
    expect((await client.query('SHOW client_connection_check_interval')).rows).toEqual([
      { client_connection_check_interval: process.platform === 'win32' ? '0' : '5s' },
    ]);

    await dropExpiredReaders(pool);
    expect(await exists(reader)).toBe(true);
    await pool.pool.query(`ALTER ROLE ${reader.user} VALID UNTIL '2026-01-01'`);
    await dropExpiredReaders(pool);
    expect(await exists(reader)).toBe(false);
    await client.end().catch(() => undefined);
  });
});
