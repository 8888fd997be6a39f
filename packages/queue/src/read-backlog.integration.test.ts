import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readBacklog } from './read-backlog.ts';
import { createTestQueues, type TestQueues, toJob } from './testing/create-test-queues.ts';

let queues: TestQueues;
beforeEach(async () => {
  queues = await createTestQueues();
});
afterEach(() => queues.close());

it('counts what waits, not what is under way or done, and how long the oldest has', async () => {
  const { database, pool } = queues.pool;
  expect(await readBacklog(database)).toEqual({ waitingCount: 0, oldestAgeMs: 0, deadLetterCount: 0 });
  const sender = await queues.open('sender');
  for (const id of ['t1', 't2', 't3']) await queues.enqueue(sender, toJob(id));
  await pool.query(`UPDATE pgboss.job SET created_on = now() - interval '1 hour' WHERE data->>'transcriptId' = 't2'`);
  const backlog = await readBacklog(database);
  expect(backlog).toMatchObject({ waitingCount: 3, deadLetterCount: 0 });
  expect(backlog.oldestAgeMs).toBeGreaterThanOrEqual(3_600_000);
  expect(backlog.oldestAgeMs).toBeLessThan(3_700_000);

  const { promise, resolve } = Promise.withResolvers<void>();
  const worker = await queues.open('worker');
  await worker.work({ concurrency: 1 }, async () => {
    await promise;
    return { status: 'done' };
  });
  await vi.waitFor(async () => expect(await readBacklog(database)).toMatchObject({ waitingCount: 2 }), 10_000);
  resolve();
  const none = { waitingCount: 0, oldestAgeMs: 0 };
  await vi.waitFor(async () => expect(await readBacklog(database)).toMatchObject(none), 10_000);
});
