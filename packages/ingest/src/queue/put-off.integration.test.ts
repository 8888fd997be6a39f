import { randomUUID } from 'node:crypto';
import { PgBoss } from 'pg-boss';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { putOff } from './put-off.ts';
import { INGEST_QUEUE, SMALL_INGEST_QUEUE } from './queues.ts';
import { createTestQueues, type TestQueues, toJob } from './testing/create-test-queues.ts';

let queues: TestQueues;
let boss: PgBoss;
beforeAll(async () => {
  queues = await createTestQueues();
  boss = new PgBoss({ connectionString: queues.connectionString, supervise: false, schedule: false, migrate: false });
  boss.on('error', () => {});
  await boss.start();
});
afterAll(async () => {
  await boss.stop({ graceful: false });
  await queues.close();
});

const RETRY_LIMIT = 4;
const RETRY_COUNT = 2;

/** Inserts a job, puts it off at its second retry, and returns how its attempt ends and what is stored. */
async function putOffJob(
  state: string,
  { storedCount = RETRY_COUNT, retryCount = RETRY_COUNT, isShared = false, queue = INGEST_QUEUE } = {},
) {
  const [id, data] = [randomUUID(), { ...toJob(randomUUID()), outageCount: 7 }];
  await queues.pool.pool.query(
    `INSERT INTO pgboss.job (id, name, data, state, retry_limit, retry_count, retry_backoff)
     VALUES ($1, $2, $3, $4::text::pgboss.job_state, $5, $6, true)`,
    [id, queue, data, state, RETRY_LIMIT, storedCount],
  );
  const job = { id, data, priority: 3, retryCount, retryLimit: RETRY_LIMIT } as Parameters<typeof putOff>[1];
  const ending = await putOff(boss, job, { reason: 'the store is away', isShared }, () => true);
  const { rows } = await queues.pool.pool.query(
    `SELECT id, state, retry_limit, retry_count, priority, (data->>'outageCount')::int AS outages, start_after > now() AS is_pausing
     FROM pgboss.job WHERE data->>'transcriptId' = $1 ORDER BY created_on`,
    [data.transcriptId],
  );
  return { id, ending, rows };
}

const UNCHANGED = { retry_limit: RETRY_LIMIT, retry_count: RETRY_COUNT, outages: 7 };

it.each(['active', 'retry'])('grants one more attempt to a job whose state is %s', async (state) => {
  const { rows, ending } = await putOffJob(state);
  expect(ending).toBe('failed');
  expect(rows).toMatchObject([
    { state: 'retry', retry_limit: RETRY_LIMIT + 1, retry_count: RETRY_COUNT, outages: 8, is_pausing: true },
  ]);
});

it.each(['active', 'retry'])('does not count an attempt that ended in a general outage: %s', async (state) => {
  const { rows } = await putOffJob(state, { isShared: true });
  expect(rows).toMatchObject([{ state: 'retry', retry_limit: RETRY_LIMIT + 1, retry_count: RETRY_COUNT, outages: 7 }]);
});

it('leaves a job as it is whose attempt is failed again', async () => {
  const { id } = await putOffJob('active');
  await boss.fail(INGEST_QUEUE, id, { reason: 'the store is away' });
  const { rows } = await queues.pool.pool.query(
    'SELECT state, retry_limit, retry_count FROM pgboss.job WHERE id = $1',
    [id],
  );
  expect(rows).toEqual([{ state: 'retry', retry_limit: RETRY_LIMIT + 1, retry_count: RETRY_COUNT }]);
});

it.each([false, true])('leaves an attempt alone that another worker has begun since then', async (isShared) => {
  const storedCount = RETRY_COUNT + 1;
  const { rows } = await putOffJob('active', { storedCount, isShared });
  expect(rows).toMatchObject([{ ...UNCHANGED, state: 'active', retry_count: storedCount }]);
});

it.each(['created', 'completed', 'cancelled', 'failed'])('leaves a job alone whose state is %s', async (state) => {
  expect((await putOffJob(state)).rows).toMatchObject([{ ...UNCHANGED, state }]);
});

it('leaves jobs of other queues alone', async () => {
  expect((await putOffJob('active', { queue: SMALL_INGEST_QUEUE })).rows).toMatchObject([UNCHANGED]);
});

it('replaces a job after its last attempt by one with a single attempt, instead of a dead letter', async () => {
  const { id, rows, ending } = await putOffJob('active', { storedCount: RETRY_LIMIT, retryCount: RETRY_LIMIT });
  expect(ending).toBe('completed');
  expect(rows).toMatchObject([
    { id, state: 'active' },
    { state: 'created', retry_limit: 0, retry_count: 0, priority: 3, outages: 8, is_pausing: true },
  ]);
});
