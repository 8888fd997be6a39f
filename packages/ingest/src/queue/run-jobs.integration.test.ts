import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import {
  createDatabasePool,
  type DatabasePool,
  deleteJobs,
  enqueueJobs,
  holdJobs,
  type IngestJob,
  releaseJobs,
} from '@recount/db';
import { createTestDatabase, type TestDatabase } from '@recount/local-postgres/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { listJobs } from '../testing/work-jobs.ts';
import { JobBell } from './job-bell.ts';
import { type JobHandlers, type RunOptions, runJobs } from './run-jobs.ts';

let testDatabase: TestDatabase;
let database: DatabasePool;
let errors: unknown[];
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = createDatabasePool({ connectionString: testDatabase.connectionString, maxConnections: 30 });
});
beforeEach(async () => {
  errors = [];
  await database.pool.query('DELETE FROM recount.ingest_jobs');
});
afterEach(() => expect(errors).toEqual([]));
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const enqueue = (ids: readonly string[], isAlone: boolean) =>
  enqueueJobs(
    database.database,
    'w',
    ids.map((transcriptId) => ({ transcriptId, sizeBytes: 1, isAlone })),
  );
/** Does the jobs that no other worker holds, as handlers do; returns them. */
const finish = (jobs: readonly IngestJob[]): Promise<string[]> =>
  database.withTransaction(async (transaction) => {
    const ids = jobs.map(({ transcriptId }) => transcriptId);
    const held = [...(await holdJobs(transaction, 'w', ids))];
    await deleteJobs(transaction, 'w', held);
    return held;
  });

/** A worker that records what it takes; done jobs are deleted. */
function startWorker(handlers: Partial<JobHandlers> = {}, options: Partial<RunOptions> = {}) {
  const alone: string[] = [];
  const batches: string[][] = [];
  const running = runJobs(
    database,
    {
      waitUntilPossible: async () => undefined,
      mayWork: async () => true,
      ...handlers,
      async handleJob(job) {
        alone.push(job.transcriptId);
        await (handlers.handleJob ?? ((taken) => finish([taken])))(job);
      },
      async handleBatch(jobs) {
        batches.push(jobs.map(({ transcriptId }) => transcriptId));
        await (handlers.handleBatch ?? finish)(jobs);
      },
    },
    { concurrency: 1, pollIntervalMs: 50, onError: (error) => errors.push(error), ...options },
  );
  const stop = (graceMs = 600_000) => running.stop(graceMs);
  // The next test must not find it at work.
  onTestFinished(() => stop());
  return { alone, batches, stop };
}

it('hands small jobs over together and others one by one, each once', async () => {
  const small = Array.from({ length: 200 }, (_, index) => `s${String(index).padStart(3, '0')}`);
  const large = Array.from({ length: 20 }, (_, index) => `l${index}`);
  await enqueue(small, false);
  await enqueue(large, true);
  const done: string[] = [];
  const handlers = {
    handleJob: async (job: IngestJob) => void done.push(...(await finish([job]))),
    handleBatch: async (jobs: readonly IngestJob[]) => void done.push(...(await finish(jobs))),
  };
  const workers = [startWorker(handlers), startWorker(handlers, { concurrency: 3 })];
  await vi.waitFor(() => expect(done.toSorted()).toEqual([...large, ...small].sort()));
  expect(await listJobs(database)).toEqual([]);
  expect(workers.flatMap(({ alone }) => alone)).toEqual(expect.arrayContaining(large));
  const batches = workers.flatMap((worker) => worker.batches);
  expect(batches.flat().sort()).toEqual(small);
  expect(batches.length).toBeLessThan(10);
});

it('takes jobs as soon as they are committed, without waiting for the next poll', async () => {
  const worker = startWorker({}, { pollIntervalMs: 3_600_000 });
  const isListening = async () => {
    const listening = `SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN recount_jobs%' AND datname = current_database()`;
    expect((await database.pool.query(listening)).rowCount).toBeGreaterThan(0);
  };
  await vi.waitFor(isListening);
  for (const id of ['first', 'second']) {
    await enqueue([id], true);
    await vi.waitFor(() => expect(worker.alone).toContain(id));
    await enqueue([`${id} small`], false);
    await vi.waitFor(() => expect(worker.batches.flat()).toContain(`${id} small`));
  }
});

it('looks for jobs again once it listens, because it missed the notifications before', async () => {
  const bell = new JobBell(database, { intervalMs: 3_600_000, onError: (error) => errors.push(error) });
  await expect(bell.wait('alone')).resolves.toBeUndefined();
  await bell.close();
});

it('finds jobs whose notification was lost, and listens again after its connection was closed', async () => {
  const worker = startWorker();
  const endListeners = () =>
    database.pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE query LIKE 'LISTEN recount_jobs%' AND datname = current_database()`);
  await vi.waitFor(async () => expect((await endListeners()).rowCount).toBeGreaterThan(0));
  await enqueue(['a'], true);
  await vi.waitFor(() => expect(worker.alone).toEqual(['a']));
  await vi.waitFor(async () => expect((await endListeners()).rowCount).toBeGreaterThan(0));
  await worker.stop();
  errors.length = 0;
});

it('takes what a batch leaves to be done alone', async () => {
  await enqueue(['a', 'b'], false);
  const worker = startWorker({
    handleBatch: async (jobs) => {
      await finish(jobs.filter(({ transcriptId }) => transcriptId === 'a'));
      await releaseJobs(database.database, 'w', ['b'], { isAlone: true });
    },
  });
  await vi.waitFor(async () => expect(await listJobs(database)).toEqual([]));
  expect([worker.batches, worker.alone]).toEqual([[['a', 'b']], ['b']]);
});

it('waits while no work is possible, and gives jobs back that are for other workers, without an attempt', async () => {
  const { promise: isPossible, resolve: continueWork } = Promise.withResolvers<undefined>();
  await enqueue(['a'], true);
  await enqueue(['b', 'c'], false);
  const outdated = startWorker({ waitUntilPossible: () => isPossible, mayWork: async () => false });
  const read = async () =>
    (await database.pool.query('SELECT transcript_id, is_alone, taken_at FROM recount.ingest_jobs ORDER BY 1')).rows;
  const untouched = ['a', 'b', 'c'].map((id) => ({ transcript_id: id, is_alone: id === 'a', taken_at: null }));
  expect(await read()).toEqual(untouched);
  continueWork(undefined);
  const newer = startWorker();
  await vi.waitFor(async () => expect(await listJobs(database)).toEqual([]));
  expect([outdated.alone, outdated.batches]).toEqual([[], []]);
  // A job that the outdated worker looks at in the moment when it is locked is done alone, five seconds later.
  expect(newer.batches.flat().sort()).toEqual(['b', 'c']);
  expect(newer.alone).toContain('a');
});

describe('stop', () => {
  it('waits for the running job, and starts no other', async () => {
    await enqueue(['a', 'b', 'c'], true);
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const worker = startWorker({
      handleJob: async (job) => {
        await mayEnd;
        await finish([job]);
      },
    });
    await vi.waitFor(() => expect(worker.alone).toEqual(['a']));
    let isStopped = false;
    const stopping = worker.stop().then(() => {
      isStopped = true;
    });
    await startWorker({}, { concurrency: 0 }).stop();
    expect(isStopped).toBe(false);
    end();
    await stopping;
    expect(worker.alone).toEqual(['a']);
    expect((await listJobs(database)).map(({ transcriptId }) => transcriptId)).toEqual(['b', 'c']);
  });

  it('does not wait longer than the grace period', async () => {
    await enqueue(['a'], true);
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const worker = startWorker({ handleJob: () => mayEnd });
    await vi.waitFor(() => expect(worker.alone).toEqual(['a']));
    await worker.stop(1);
    end();
  });
});

it('reports errors of the database, and continues', async () => {
  const worker = startWorker();
  await database.pool.query('ALTER TABLE recount.ingest_jobs RENAME TO jobs_away');
  const isReported = () =>
    expect(errors).toContainEqual(expect.objectContaining({ cause: expect.objectContaining({ code: '42P01' }) }));
  await vi
    .waitFor(isReported)
    .finally(() => database.pool.query('ALTER TABLE recount.jobs_away RENAME TO ingest_jobs'));
  await enqueue(['a'], true);
  await vi.waitFor(() => expect(worker.alone).toEqual(['a']));
  await worker.stop();
  errors.length = 0;
});

it('gives the job of a killed worker to another one, as soon as its transaction has ended', async () => {
  await enqueue(['a'], true);
  const fixture = fileURLToPath(new URL('fixtures/hold-job.ts', import.meta.url));
  const doomed = spawn(process.execPath, [fixture, testDatabase.connectionString], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    doomed.kill('SIGKILL');
  });
  const [line] = await once(doomed.stdout, 'data');
  expect(String(line)).toBe('a\n');
  // However long it works, no one else gets the job, while a later one is taken.
  const isDue = async () => {
    const { rows } = await database.pool.query(
      `SELECT taken_at < now() - interval '5 seconds' AS is_due FROM recount.ingest_jobs`,
    );
    expect(rows).toEqual([{ is_due: true }]);
  };
  await vi.waitFor(isDue);
  const worker = startWorker();
  await enqueue(['b'], true);
  await vi.waitFor(() => expect(worker.alone).toEqual(['b']));
  doomed.kill('SIGKILL');
  await vi.waitFor(() => expect(worker.alone).toEqual(['b', 'a']));
});
