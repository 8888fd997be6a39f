import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createTestPool } from '../testing/create-test-pool.ts';
import { waitForWriters, withAdvisoryLock } from './locks.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
let other: typeof pool;
beforeAll(async () => {
  pool = await createTestPool();
  other = await createTestPool();
});
afterAll(async () => {
  await pool.close();
  await other.close();
});

/** Begins a transaction that writes; the returned function ends it. */
async function beginToWrite({ pool: connections }: typeof pool): Promise<() => Promise<void>> {
  const client = await connections.connect();
  await client.query('BEGIN');
  await client.query('CREATE TEMPORARY TABLE written ON COMMIT DROP AS SELECT 1');
  return async () => {
    await client.query('COMMIT');
    client.release();
  };
}

it('waits for the transactions that have begun to write, not for later ones', async () => {
  const end = await beginToWrite(pool);
  let hasEnded = false;
  const asking = vi.spyOn(pool.database, 'execute');
  const waiting = waitForWriters(pool.database).then(() => expect(hasEnded).toBe(true));
  // It asks a second time once it has listed the transactions.
  await vi.waitFor(() => expect(asking.mock.calls.length).toBeGreaterThan(1));
  asking.mockRestore();
  const endLater = await beginToWrite(pool);
  hasEnded = true;
  await end();
  await waiting;
  await endLater();
});

it('does not wait for other databases of the server', async () => {
  const end = await beginToWrite(other);
  await waitForWriters(pool.database);
  await end();
});

it('does not wait for the transaction that asks', async () => {
  await pool.withTransaction(async (transaction, client) => {
    await client.query('CREATE TEMPORARY TABLE written ON COMMIT DROP AS SELECT 1');
    await waitForWriters(transaction);
  });
});

it('lets one process do each thing at a time, whatever others do', async () => {
  const found = await withAdvisoryLock(pool, 'alerts', async () => [
    await withAdvisoryLock(pool, 'alerts', async () => 'again'),
    await withAdvisoryLock(pool, 'repository-renames', async () => 'another'),
  ]);
  expect(found).toEqual([undefined, 'another']);
  expect(await withAdvisoryLock(pool, 'alerts', async () => 'later')).toBe('later');
});
