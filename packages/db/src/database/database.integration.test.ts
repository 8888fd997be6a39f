import { createTestDatabase } from '@recount/local-postgres/testing';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { createDatabasePool, type DatabasePool } from './database.ts';

const LOCK = 'SELECT pg_advisory_lock(7)';

/** Its queries of the lock wait, because another connection holds it. */
let pool: DatabasePool;

beforeEach(async () => {
  const { connectionString, drop } = await createTestDatabase();
  const holder = createDatabasePool({ connectionString });
  const client = await holder.pool.connect();
  await client.query(LOCK);
  pool = createDatabasePool({ connectionString });
  onTestFinished(async () => {
    client.release();
    await holder.close();
    await drop();
  });
});

it('a pool closes although a query waits for a lock', async () => {
  const waiting = expect(pool.pool.query(LOCK)).rejects.toThrow();
  await pool.close();
  await waiting;
});

it('a transaction that is aborted while it connects does not begin', async () => {
  const aborting = new AbortController();
  const begun = pool.withTransaction((_transaction, client) => client.query(LOCK), { signal: aborting.signal });
  aborting.abort(new Error('stopped'));
  await expect(begun).rejects.toThrow('stopped');
  await pool.close();
});
