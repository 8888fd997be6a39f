import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { DEAD_LETTER_QUEUE, INGEST_QUEUE } from './queues.ts';
import { createTestQueues, type TestQueues, toJob } from './testing/create-test-queues.ts';

let queues: TestQueues;
beforeAll(async () => {
  queues = await createTestQueues();
});
afterAll(() => queues.close());

const insert = (queue: string, transcriptId: string) =>
  queues.pool.pool.query('INSERT INTO pgboss.job (id, name, data) VALUES ($1, $2, $3)', [
    ...[randomUUID(), queue, toJob(transcriptId)],
  ]);

it('are dropped while another job of their transcript is waiting, so that it is not given up', async () => {
  await insert(INGEST_QUEUE, 'tried again');
  await insert(DEAD_LETTER_QUEUE, 'tried again');
  await insert(DEAD_LETTER_QUEUE, 'given up');
  const worker = await queues.open('worker');
  const handled: string[] = [];
  await worker.workDeadLetters(async ({ transcriptId }) => {
    handled.push(transcriptId);
  });
  await vi.waitFor(async () => {
    const states = (await queues.readJobs()).map(({ name, state }) => [name, state]).sort();
    expect(states).toEqual(
      [
        [DEAD_LETTER_QUEUE, 'completed'],
        [DEAD_LETTER_QUEUE, 'completed'],
        [INGEST_QUEUE, 'created'],
      ].sort(),
    );
  });
  expect(handled).toEqual(['given up']);
});
