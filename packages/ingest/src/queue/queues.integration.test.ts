import { randomBytes, randomUUID } from 'node:crypto';
import { createDatabasePool } from '@recount/db';
import { createDatabase, dropDatabase } from '@recount/local-postgres';
import type {} from '@recount/local-postgres/testing';
import { afterEach, beforeEach, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { deleteJobs, readBacklog } from './job-table.ts';
import { DEAD_LETTER_QUEUE, INGEST_QUEUE, ingestQueueOptions, migrateQueue, SMALL_INGEST_QUEUE } from './queues.ts';
import { createTestQueues, type TestQueues, toJob } from './testing/create-test-queues.ts';

describe('migrate queue', () => {
  it('creates the queues once, however many call it concurrently, and updates changed options', async () => {
    const { serverUrl } = inject('postgres');
    const name = `test_${randomBytes(8).toString('hex')}`;
    const connectionString = await createDatabase(serverUrl, name);
    const { pool, close } = createDatabasePool({ connectionString });
    onTestFinished(async () => {
      await close();
      await dropDatabase(serverUrl, name);
    });
    await Promise.all(Array.from({ length: 8 }, () => migrateQueue(connectionString)));
    const readQueues = async () =>
      (
        await pool.query(
          'SELECT name, retry_limit, heartbeat_seconds, dead_letter, notify FROM pgboss.queue ORDER BY name',
        )
      ).rows;
    const ingestQueue = {
      retry_limit: ingestQueueOptions.retryLimit,
      heartbeat_seconds: ingestQueueOptions.heartbeatSeconds,
      dead_letter: DEAD_LETTER_QUEUE,
      notify: true,
    };
    const expected = [
      { name: INGEST_QUEUE, ...ingestQueue },
      { name: DEAD_LETTER_QUEUE, dead_letter: null },
      { name: SMALL_INGEST_QUEUE, ...ingestQueue },
    ];
    const names = expected.map((queue) => queue.name);
    expect((await readQueues()).filter((queue) => names.includes(queue.name))).toMatchObject(expected);
    await pool.query('UPDATE pgboss.queue SET retry_limit = 99, heartbeat_seconds = 60');
    await migrateQueue(connectionString);
    expect(await readQueues()).toMatchObject(expected);
  });
});

describe('delete jobs', () => {
  let queues: TestQueues;
  beforeEach(async () => {
    queues = await createTestQueues();
  });
  afterEach(() => queues.close());

  const FOREIGN_QUEUE = 'foreign';

  /**
   * For each of two transcripts in each of two workspaces (with the same transcript names), a job in each queue and in
   * one that is not recount's.
   */
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

  it('deletes jobs of some of its transcripts, and no others', async () => {
    await insertJobs();
    const before = await readJobs();
    await deleteJobs(queues.pool.database, { workspaceId: 'w1', transcriptIds: ['t2', 't3'] });
    expect(await readJobs()).toEqual(before.filter((job) => !job.endsWith(' w1 t2') || job.startsWith(FOREIGN_QUEUE)));
  });

  it('deletes nothing if no transcripts are named', async () => {
    await insertJobs();
    const before = await readJobs();
    await deleteJobs(queues.pool.database, { workspaceId: 'w1', transcriptIds: [] });
    expect(await readJobs()).toEqual(before);
  });
});

describe('read backlog', () => {
  let queues: TestQueues;
  beforeEach(async () => {
    queues = await createTestQueues();
  });
  afterEach(() => queues.close());

  it('tells dead letters from jobs, and counts neither blocked nor finished jobs nor other queues’ jobs', async () => {
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

  it('counts waiting jobs, not running or finished ones, and the age of the oldest', async () => {
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
});
