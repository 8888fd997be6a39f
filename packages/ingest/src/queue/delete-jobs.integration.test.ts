import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { deleteJobs } from './delete-jobs.ts';
import { DEAD_LETTER_QUEUE, INGEST_QUEUE, SMALL_INGEST_QUEUE } from './queue-options.ts';
import { createTestQueues, type TestQueues } from './testing/create-test-queues.ts';

let queues: TestQueues;
beforeEach(async () => {
  queues = await createTestQueues();
});
afterEach(() => queues.close());

const FOREIGN_QUEUE = 'foreign';

/** A job of each queue, and of one that is not recount's, for each of two transcripts of each of two workspaces, whose transcripts have the same names. */
async function insertJobs(): Promise<void> {
  await queues.createForeignQueue(FOREIGN_QUEUE);
  for (const name of [INGEST_QUEUE, SMALL_INGEST_QUEUE, DEAD_LETTER_QUEUE, FOREIGN_QUEUE]) {
    for (const workspaceId of ['w1', 'w2']) {
      for (const transcriptId of ['t1', 't2']) {
        await queues.pool.pool.query('INSERT INTO pgboss.job (id, name, data) VALUES ($1, $2, $3)', [
          randomUUID(),
          name,
          { workspaceId, transcriptId },
        ]);
      }
    }
  }
}

const readJobs = async (): Promise<string[]> =>
  (await queues.readJobs()).map(({ name, data }) => `${name} ${data.workspaceId} ${data.transcriptId}`).sort();

it('deletes the jobs and dead letters of a workspace, and no others', async () => {
  await insertJobs();
  const before = await readJobs();
  await deleteJobs(queues.pool.database, { workspaceId: 'w1' });
  expect(await readJobs()).toEqual(before.filter((job) => job.includes(' w2 ') || job.startsWith(FOREIGN_QUEUE)));
});

it('deletes those of some of its transcripts, and no others', async () => {
  await insertJobs();
  const before = await readJobs();
  await deleteJobs(queues.pool.database, { workspaceId: 'w1', transcriptIds: ['t2', 't3'] });
  expect(await readJobs()).toEqual(before.filter((job) => !job.endsWith(' w1 t2') || job.startsWith(FOREIGN_QUEUE)));
});

it('deletes nothing where no transcripts are named', async () => {
  await insertJobs();
  const before = await readJobs();
  await deleteJobs(queues.pool.database, { workspaceId: 'w1', transcriptIds: [] });
  expect(await readJobs()).toEqual(before);
});
