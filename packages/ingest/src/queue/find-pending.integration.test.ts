import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DEAD_LETTER_QUEUE, INGEST_QUEUE, SMALL_INGEST_QUEUE } from './queues.ts';
import { createTestQueues, type TestQueues, toJob } from './testing/create-test-queues.ts';

let queues: TestQueues;
beforeAll(async () => {
  queues = await createTestQueues();
});
afterAll(() => queues.close());

const QUEUES = [INGEST_QUEUE, SMALL_INGEST_QUEUE, DEAD_LETTER_QUEUE];
const STATES = ['created', 'retry', 'active', 'completed', 'cancelled', 'failed'];

it('finds which of the given transcripts have a job or dead letter that is waiting or running', async () => {
  await queues.createForeignQueue('foreign');
  for (const name of [...QUEUES, 'foreign']) {
    for (const state of STATES) {
      for (const id of [`${name} ${state}`, `not asked about: ${name} ${state}`]) {
        await queues.pool.pool.query(
          'INSERT INTO pgboss.job (id, name, data, state) VALUES ($1, $2, $3, $4::text::pgboss.job_state)',
          [randomUUID(), name, toJob(id), state],
        );
      }
    }
  }
  const toIds = (states: readonly string[], queueNames = QUEUES) =>
    queueNames.flatMap((name) => states.map((state) => `${name} ${state}`));
  const sender = await queues.open('sender');
  const pending = await sender.findPending([...toIds(STATES), ...toIds(STATES, ['foreign']), 'unknown']);
  expect([...pending].sort()).toEqual(toIds(['created', 'retry', 'active']).sort());
});
