import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { grantAttempt } from './job-queue.ts';
import { INGEST_QUEUE, SMALL_INGEST_QUEUE } from './queues.ts';
import { createTestQueues, type TestQueues } from './testing/create-test-queues.ts';

let queues: TestQueues;
beforeAll(async () => {
  queues = await createTestQueues();
});
afterAll(() => queues.close());

const RETRY_LIMIT = 4;
const RETRY_COUNT = 2;

/** Inserts a job, grants it one more attempt at its second retry, and returns the resulting counts. */
async function grant(state: string, { retryCount = RETRY_COUNT, isShared = false, queue = INGEST_QUEUE } = {}) {
  const id = randomUUID();
  await queues.pool.pool.query(
    `INSERT INTO pgboss.job (id, name, data, state, retry_limit, retry_count)
     VALUES ($1, $2, '{}', $3::text::pgboss.job_state, $4, $5)`,
    [id, queue, state, RETRY_LIMIT, retryCount],
  );
  const database = {
    executeSql: async (text: string, values?: unknown[]) => await queues.pool.pool.query(text, values),
  };
  await grantAttempt(database, { id, retryCount: RETRY_COUNT, isShared }, () => true);
  const { rows } = await queues.pool.pool.query('SELECT retry_limit, retry_count FROM pgboss.job WHERE id = $1', [id]);
  return rows[0];
}

const UNCHANGED = { retry_limit: RETRY_LIMIT, retry_count: RETRY_COUNT };

it.each(['active', 'retry'])('grants one more attempt to a job whose state is %s', async (state) => {
  expect(await grant(state)).toEqual({ ...UNCHANGED, retry_limit: RETRY_LIMIT + 1 });
});

it.each(['active', 'retry'])('does not count an attempt that ended in a general outage: %s', async (state) => {
  expect(await grant(state, { isShared: true })).toEqual({ ...UNCHANGED, retry_count: RETRY_COUNT - 1 });
});

it.each([false, true])('leaves an attempt alone that another worker has begun since then', async (isShared) => {
  const retryCount = RETRY_COUNT + 1;
  expect(await grant('active', { retryCount, isShared })).toEqual({ ...UNCHANGED, retry_count: retryCount });
});

it.each(['created', 'completed', 'cancelled', 'failed'])('leaves a job alone whose state is %s', async (state) => {
  expect(await grant(state)).toEqual(UNCHANGED);
});

it('leaves jobs of other queues alone', async () => {
  expect(await grant('active', { queue: SMALL_INGEST_QUEUE })).toEqual(UNCHANGED);
});
