import { createDatabasePool } from '@recount/db';
import { createTestDatabase, type TestDatabase } from '@recount/local-postgres/testing';
import { RawStoreError } from '@recount/storage';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createOutageGate, type OutageGateDeps } from './outage-gate.ts';

const PAUSE_MS = 20;
const WAIT = { interval: 20 };
const withCode = (code: string): Error => Object.assign(new Error('why'), { code, severity: 'ERROR' });
const FULL = new Error('Failed query', { cause: withCode('53100') });

let testDatabase: TestDatabase;
let database: OutageGateDeps['database'];
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = createDatabasePool({ connectionString: testDatabase.connectionString });
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

function createGate({ check = async () => undefined }: { check?: () => Promise<void> } = {}) {
  const changes: Parameters<OutageGateDeps['onChange']>[0][] = [];
  const rawStore = { check } as OutageGateDeps['rawStore'];
  const gate = createOutageGate(
    { database, rawStore, onChange: (change) => changes.push(change) },
    { pauseMs: PAUSE_MS },
  );
  return { gate, changes };
}

/** No table of any size can be created until the returned function is called. */
async function makeFull(): Promise<() => Promise<void>> {
  // The error of a full disk, at the first write that needs space.
  await database.pool.query(`
    CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
    CREATE EVENT TRIGGER refuse ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION public.refuse()`);
  return async () => {
    await database.pool.query('DROP EVENT TRIGGER refuse; DROP FUNCTION public.refuse');
  };
}

describe('a full database', () => {
  it('affects everyone while nothing else can be written either, and keeps jobs waiting', async () => {
    const { gate, changes } = createGate();
    const release = await makeFull();
    try {
      expect(await gate.isShared(FULL)).toBe(true);
      expect(await gate.isShared(FULL)).toBe(true);
      expect(changes).toEqual([{ isOpen: false, reason: 'Postgres error 53100: why' }]);
      let passed = 0;
      const passing = Array.from({ length: 5 }, () => gate.pass().then(() => passed++));
      const probes = vi.spyOn(database.pool, 'connect');
      await vi.waitFor(() => expect(probes.mock.calls.length).toBeGreaterThan(3), WAIT);
      probes.mockRestore();
      expect(passed).toBe(0);
      await release();
      await Promise.all(passing);
      expect(changes).toEqual([{ isOpen: false, reason: 'Postgres error 53100: why' }, { isOpen: true }]);
    } finally {
      await release().catch(() => undefined);
    }
    await gate.pass();
  });

  it('does not block a worker that stops', async () => {
    const { gate } = createGate();
    const release = await makeFull();
    expect(await gate.isShared(FULL)).toBe(true);
    const stopping = new AbortController();
    const passing = gate.pass(stopping.signal);
    stopping.abort();
    await passing;
    await release();
  });

  it('is the transcript’s own failure if something else can be written', async () => {
    const { gate, changes } = createGate();
    expect(await gate.isShared(FULL)).toBe(false);
    await gate.pass();
    expect(changes).toEqual([]);
  });

  it('is probed without leaving anything', async () => {
    const { gate } = createGate();
    await gate.isShared(FULL);
    const { rows } = await database.pool.query(`SELECT FROM pg_class WHERE relname LIKE 'write\\_probe%'`);
    expect(rows).toEqual([]);
  });
});

describe('a raw store', () => {
  it('is probed when it is full', async () => {
    let isFull = true;
    const { gate, changes } = createGate({
      check: async () => {
        if (isFull) throw new RawStoreError('out-of-space', 'ENOSPC');
      },
    });
    expect(await gate.isShared(new RawStoreError('out-of-space', 'ENOSPC'))).toBe(true);
    isFull = false;
    await gate.pass();
    await vi.waitFor(() => expect(changes.map(({ isOpen }) => isOpen)).toEqual([false, true]), WAIT);
  });
});

it.each([
  withCode('08006'),
  withCode('57P02'),
  new Error('Connection terminated unexpectedly'),
  withCode('23505'),
  new RawStoreError('unavailable', 'S3: HTTP 503'),
])('%s is never an outage, because the transcript may have caused it', async (error) => {
  const release = await makeFull();
  try {
    expect(await createGate().gate.isShared(error)).toBe(false);
  } finally {
    await release();
  }
});
