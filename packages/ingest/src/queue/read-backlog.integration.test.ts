import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { DEAD_LETTER_QUEUE, INGEST_QUEUE, SMALL_INGEST_QUEUE } from './queue-options.ts';
import { readBacklog } from './read-backlog.ts';
import { createTestQueues, type TestQueues, toJob } from './testing/create-test-queues.ts';

let queues: TestQueues;
beforeEach(async () => {
  queues = await createTestQueues();
});
afterEach(() => queues.close());

it('tells dead letters from jobs, and counts neither what is blocked or done nor what is of other queues', async () => {
  const { database, pool } = queues.pool;
  const insert = (name: string, ageMinutes: number, { state = 'created', isBlocked = false } = {}) =>
    pool.query(
      `INSERT INTO pgboss.job (id, name, data, state, blocked, created_on)
       VALUES ($1, $2, '{}', $3::text::pgboss.job_state, $4, now() - $5 * interval '1 minute')`,
      [randomUUID(), name, state, isBlocked, ageMinutes],
    );
  for (const ageMinutes of [300, 1]) await insert(DEAD_LETTER_QUEUE, ageMinutes);
  expect(await readBacklog(database)).toEqual({ waitingCount: 0, oldestAgeMs: 0, deadLetterCount: 2 });
  await insert(INGEST_QUEUE, 10);
  await insert(INGEST_QUEUE, 60, { state: 'retry' });
  await insert(SMALL_INGEST_QUEUE, 20);
  for (const state of ['active', 'completed', 'cancelled', 'failed']) {
    await insert(INGEST_QUEUE, 120, { state });
    await insert(DEAD_LETTER_QUEUE, 120, { state });
  }
  await insert(INGEST_QUEUE, 240, { isBlocked: true });
  await queues.createForeignQueue('foreign');
  await insert('foreign', 240);
  const { oldestAgeMs, ...counts } = await readBacklog(database);
  expect(counts).toEqual({ waitingCount: 3, deadLetterCount: 2 });
  expect(oldestAgeMs).toBeGreaterThanOrEqual(60 * 60_000);
  expect(oldestAgeMs).toBeLessThan(120 * 60_000);
});

it('counts what waits, not what is under way or done, and how long the oldest has', async () => {
  const { database, pool } = queues.pool;
  expect(await readBacklog(database)).toEqual({ waitingCount: 0, oldestAgeMs: 0, deadLetterCount: 0 });
  const sender = await queues.open('sender');
  for (const id of ['t1', 't2', 't3']) await queues.enqueue(sender, toJob(id));
  await pool.query(`UPDATE pgboss.job SET created_on = now() - interval '1 hour' WHERE data->>'transcriptId' = 't2'`);
  const backlog = await readBacklog(database);
  expect(backlog).toMatchObject({ waitingCount: 3, deadLetterCount: 0 });
  expect(backlog.oldestAgeMs).toBeGreaterThanOrEqual(3_600_000);
  expect(backlog.oldestAgeMs).toBeLessThan(5_400_000);

  const { promise, resolve } = Promise.withResolvers<void>();
  const worker = await queues.open('worker');
  await worker.work({ concurrency: 1 }, async () => {
    await promise;
    return { status: 'done' };
  });
  await vi.waitFor(async () => expect(await readBacklog(database)).toMatchObject({ waitingCount: 2 }));
  resolve();
  const none = { waitingCount: 0, oldestAgeMs: 0 };
  await vi.waitFor(async () => expect(await readBacklog(database)).toMatchObject(none));
});
