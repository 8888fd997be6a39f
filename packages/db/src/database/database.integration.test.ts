import type { EventEmitter } from 'node:events';
import { createTestDatabase } from '@recount/local-postgres/testing';
import type { PoolClient } from 'pg';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { createDatabasePool, type DatabasePool } from './database.ts';

const LOCK = 'SELECT pg_advisory_lock(7)';

/** Its queries of the lock wait, because another connection holds it. */
let pool: DatabasePool;
let connectionString: string;

beforeEach(async () => {
  const { drop, ...created } = await createTestDatabase();
  ({ connectionString } = created);
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

it.each(['withTransaction', 'withSnapshot'] as const)(
  '%s whose connection breaks between two queries fails, and the process survives',
  async (begin) => {
    const uncaught: unknown[] = [];
    const note = (error: unknown): void => void uncaught.push(error);
    process.on('uncaughtException', note);
    onTestFinished(() => void process.off('uncaughtException', note));
    const reported: Error[] = [];
    const breaking = createDatabasePool({ connectionString, onConnectionError: (error) => void reported.push(error) });
    const failed = breaking[begin](async (transaction) => {
      const { rows } = await transaction.execute<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await pool.pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
      await expect.poll(() => reported.length + uncaught.length, { timeout: 60_000 }).toBeGreaterThan(0);
      await transaction.execute('SELECT 1');
    });
    await expect(failed).rejects.toThrow();
    await expect(breaking[begin](async () => 'again')).resolves.toBe('again');
    expect(uncaught).toEqual([]);
    await breaking.close();
    await pool.close();
  },
);

it('a transaction that is aborted while it connects does not begin', async () => {
  const aborting = new AbortController();
  const begun = pool.withTransaction((_transaction, client) => client.query(LOCK), { signal: aborting.signal });
  aborting.abort(new Error('stopped'));
  await expect(begun).rejects.toThrow('stopped');
  await pool.close();
});

it('a connection that ends as the next transaction takes it fails that transaction, and the process survives', async () => {
  const uncaught: unknown[] = [];
  const note = (error: unknown): void => void uncaught.push(error);
  process.on('uncaughtException', note);
  onTestFinished(() => void process.off('uncaughtException', note));
  const single = createDatabasePool({ connectionString, maxConnections: 1 });
  const client = (await single.pool.connect()) as PoolClient & { connection: EventEmitter };
  // As if the server's last message were in the packet of the answer before it.
  const last = Object.assign(new Error('terminating connection'), { code: '57P01' });
  client.connection.once('readyForQuery', () => client.connection.emit('errorMessage', last));
  client.query('SELECT 1', () => client.release());
  await expect(single.withTransaction(async () => 'never')).rejects.toThrow();
  expect(uncaught).toEqual([]);
  await expect(single.withTransaction(async () => 'again')).resolves.toBe('again');
  await single.close();
  await pool.close();
});
