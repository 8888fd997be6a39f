import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { IngestJob } from './ingest-job.ts';
import type { GroupedOutcome, JobHandler, JobOutcome, JobQueue } from './job-queue.ts';
import { INGEST_QUEUE, MAX_ATTEMPTS, MAX_GROUP_JOBS, MAX_OUTAGE_HAND_BACKS, SMALL_INGEST_QUEUE } from './queues.ts';
import { createTestQueues, type TestQueues, toJob } from './testing/create-test-queues.ts';

/** The shortest that pg-boss permits. */
const pollIntervalMs = 500;
const DONE: JobOutcome = { status: 'done' };
const FAILED: JobOutcome = { status: 'failed', reason: 'disk full' };

let queues: TestQueues;
let sender: JobQueue;
beforeEach(async () => {
  queues = await createTestQueues();
  sender = await queues.open('sender');
});
afterEach(async () => {
  await queues.close();
  expect(queues.errors).toEqual([]);
});

type Handle = (...of: Parameters<JobHandler>) => Promise<JobOutcome> | JobOutcome;

/** A worker that records the jobs it gets, in order. */
async function startWorker(handle: Handle = () => DONE, concurrency = 1) {
  const worker = await queues.open('worker');
  const taken: string[] = [];
  await worker.work({ concurrency, pollIntervalMs }, async (job, attempt) => {
    taken.push(job.transcriptId);
    return await handle(job, attempt);
  });
  return { worker, taken };
}

const isPending = async (transcriptId: string) => (await sender.findPending([transcriptId, 'other'])).has(transcriptId);

describe('enqueue', () => {
  it('creates no job if its transaction rolls back', async () => {
    const enqueuing = queues.pool.withTransaction(async (transaction) => {
      await sender.enqueue(transaction, toJob('t1'));
      throw new Error('rolled back');
    });
    await expect(enqueuing).rejects.toThrow('rolled back');
    expect(await queues.readJobs()).toEqual([]);
    expect(await isPending('t1')).toBe(false);
  });

  it('has a job worked once its transaction commits, not before', async () => {
    const { taken } = await startWorker();
    await queues.pool.withTransaction(async (transaction) => {
      await sender.enqueue(transaction, toJob('t1'));
      // A worker that has taken a later job has looked for this one.
      await queues.enqueue(sender, toJob('later'));
      await vi.waitFor(() => expect(taken).toEqual(['later']));
    });
    await vi.waitFor(() => expect(taken).toEqual(['later', 't1']));
    await vi.waitFor(async () => expect(await isPending('t1')).toBe(false));
    expect(taken).toEqual(['later', 't1']);
  });

  it('sends a notification, so that an idle worker polls rarely', async () => {
    const worker = await queues.open('worker');
    const taken: IngestJob[] = [];
    await worker.work({ concurrency: 1, pollIntervalMs: 3_600_000 }, async (job) => {
      taken.push(job);
      return DONE;
    });
    const isListening = async () => {
      const listening = `SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND datname = current_database()`;
      expect((await queues.pool.pool.query(listening)).rowCount).toBeGreaterThan(0);
    };
    await vi.waitFor(isListening);
    // The only poll may find the first, not the second.
    await queues.enqueue(sender, toJob('t1'));
    await vi.waitFor(() => expect(taken).toEqual([toJob('t1')]));
    await queues.enqueue(sender, toJob('t2'));
    await vi.waitFor(() => expect(taken).toEqual([toJob('t1'), toJob('t2')]));
  });

  it('prefers jobs of higher priority', async () => {
    for (const [id, priority] of [
      ['low', 0],
      ['high', 9],
      ['middle', 5],
      ['low again', 0],
    ] as const) {
      await queues.enqueue(sender, toJob(id), priority);
    }
    const { taken } = await startWorker();
    await vi.waitFor(() => expect(taken).toEqual(['high', 'middle', 'low', 'low again']));
  });
});

describe('work', () => {
  it('works every job once, up to its concurrency', async () => {
    const ids = Array.from({ length: 60 }, (_, index) => `t${index}`);
    await queues.pool.withTransaction(async (transaction) => {
      for (const id of ids) await sender.enqueue(transaction, toJob(id));
    });
    let underWay = 0;
    let most = 0;
    const handle = async () => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setTimeout(resolve, 5));
      underWay--;
      return DONE;
    };
    const workers = [await startWorker(handle, 3), await startWorker(handle, 2)];
    await vi.waitFor(() => expect(workers.flatMap(({ taken }) => taken).sort()).toEqual(ids.sort()));
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(5);
  });

  it('reports a job as pending while it waits, runs, and pauses; not afterwards', async () => {
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<JobOutcome>();
    await queues.enqueue(sender, toJob('t1'));
    await queues.enqueue(sender, toJob('t2'));
    expect(await isPending('t1')).toBe(true);
    const outcomes = [mayEnd, Promise.resolve(DONE)];
    const { taken } = await startWorker(async ({ transcriptId }) =>
      transcriptId === 't1' ? await (outcomes.shift() ?? DONE) : DONE,
    );
    await vi.waitFor(() => expect(taken).toContain('t1'));
    expect(await isPending('t1')).toBe(true);
    end(FAILED);
    await vi.waitFor(async () => expect((await queues.readJobs())[0]?.state).toBe('retry'));
    expect(await isPending('t1')).toBe(true);
    await queues.endPauses();
    await vi.waitFor(async () => expect(await isPending('t1')).toBe(false));
    expect(taken.filter((id) => id === 't1')).toHaveLength(2);
    expect(await isPending('unknown')).toBe(false);
  });

  it('retries a failed job after growing pauses, and then makes it a dead letter', async () => {
    const pausesSeconds: number[] = [];
    await queues.enqueue(sender, toJob('t1'));
    const { worker, taken } = await startWorker(() => FAILED);
    while (pausesSeconds.length < MAX_ATTEMPTS - 1) {
      await vi.waitFor(async () => {
        const { rows } = await queues.pool.pool.query(
          `SELECT extract(epoch FROM start_after - now())::float8 AS pause FROM pgboss.job WHERE state = 'retry' AND start_after > now()`,
        );
        expect(rows).toHaveLength(1);
        pausesSeconds.push(rows[0].pause);
      });
      await queues.endPauses();
    }
    for (const [index, pause] of pausesSeconds.entries()) {
      expect(pause).toBeGreaterThan(2 ** index - 1);
      expect(pause).toBeLessThan(2 ** (index + 3));
    }
    expect(pausesSeconds.at(-1)).toBeGreaterThan(pausesSeconds[0] ?? Number.POSITIVE_INFINITY);

    const deadLetters: IngestJob[] = [];
    await worker.workDeadLetters(async (job) => {
      deadLetters.push(job);
      if (deadLetters.length === 1) throw new Error('the database is away');
    });
    await vi.waitFor(async () => {
      await queues.endPauses();
      expect(deadLetters).toEqual([toJob('t1'), toJob('t1')]);
    });
    expect(taken).toHaveLength(MAX_ATTEMPTS);
    expect(await isPending('t1')).toBe(false);
  });

  const useUpOutages = (count: number) =>
    queues.pool.pool.query(`UPDATE pgboss.job SET data = data || jsonb_build_object('outageCount', $1::int)`, [count]);

  it('counts no outage as an attempt, up to the limit', async () => {
    await queues.enqueue(sender, toJob('t1'));
    await useUpOutages(MAX_OUTAGE_HAND_BACKS - 3);
    const handBacksLeft: number[] = [];
    await startWorker((_job, attempt) => {
      handBacksLeft.push(attempt.handBacksLeft);
      return attempt.handBacksLeft > 0 ? { status: 'outage', reason: 'the store is away', isShared: false } : FAILED;
    });
    await vi.waitFor(async () => {
      await queues.endPauses();
      expect(await queues.readJobs()).toContainEqual(expect.objectContaining({ state: 'failed' }));
    });
    expect(handBacksLeft).toEqual([3, 2, 1, ...Array.from({ length: MAX_ATTEMPTS }, () => 0)]);
  });

  it('counts a general outage neither as an attempt nor as one of a job’s own outages', async () => {
    await queues.enqueue(sender, toJob('t1'));
    await useUpOutages(MAX_OUTAGE_HAND_BACKS - 1);
    const outageCount = 4;
    const handBacksLeft: number[] = [];
    await startWorker((_job, attempt) => {
      handBacksLeft.push(attempt.handBacksLeft);
      if (handBacksLeft.length > outageCount) return DONE;
      return { status: 'outage', reason: 'the disk is full', isShared: true };
    });
    await vi.waitFor(async () => {
      await queues.endPauses();
      expect(await queues.readJobs()).toMatchObject([{ state: 'completed' }]);
    });
    expect(handBacksLeft).toEqual(Array.from({ length: outageCount + 1 }, () => 1));
  });

  it('counts no outage at the last attempt either, and makes no dead letter of it', async () => {
    await queues.enqueue(sender, toJob('t1'), 7);
    const outcomes: JobOutcome[] = Array.from({ length: MAX_ATTEMPTS - 1 }, () => FAILED);
    outcomes.push(...Array.from({ length: 2 }, () => ({ ...FAILED, status: 'outage', isShared: false }) as JobOutcome));
    const { worker, taken } = await startWorker(() => outcomes.shift() ?? DONE);
    const deadLetters: IngestJob[] = [];
    await worker.workDeadLetters(async (job) => void deadLetters.push(job));
    await vi.waitFor(async () => {
      await queues.endPauses();
      expect(taken).toHaveLength(MAX_ATTEMPTS + 2);
    });
    await vi.waitFor(async () => expect(await isPending('t1')).toBe(false));
    expect(deadLetters).toEqual([]);
    const jobs = await queues.readJobs();
    expect(jobs).toMatchObject(jobs.map(() => ({ state: 'completed', priority: 7 })));
  });

  it('does not count an attempt that an outage of the queue’s own database ended', async () => {
    await queues.enqueue(sender, toJob('t1'));
    const outcomes: JobOutcome[] = [{ status: 'outage', reason: 'the database is away', isShared: false }];
    const handBacksLeft: number[] = [];
    const { taken } = await startWorker(async (_job, attempt) => {
      handBacksLeft.push(attempt.handBacksLeft);
      const outcome = outcomes.shift() ?? DONE;
      if (outcome.status === 'outage') {
        await queues.pool.pool.query('ALTER TABLE pgboss.job_common RENAME TO job_away');
        setTimeout(() => queues.pool.pool.query('ALTER TABLE pgboss.job_away RENAME TO job_common'), 2000);
      }
      return outcome;
    });
    await vi.waitFor(async () => {
      await queues.endPauses();
      expect(taken).toHaveLength(2);
    });
    expect(handBacksLeft).toEqual([MAX_OUTAGE_HAND_BACKS, MAX_OUTAGE_HAND_BACKS - 1]);
    queues.errors.length = 0;
  });

  it('fails only the job whose outcome it is', async () => {
    await queues.pool.withTransaction(async (transaction) => {
      for (const id of ['good', 'bad', 'fine']) await sender.enqueue(transaction, toJob(id));
    });
    await startWorker(({ transcriptId }) => (transcriptId === 'bad' ? FAILED : DONE));
    await vi.waitFor(async () => {
      const jobs = await queues.readJobs();
      expect(Object.fromEntries(jobs.map(({ data, state }) => [data.transcriptId, state]))).toEqual({
        good: 'completed',
        bad: 'retry',
        fine: 'completed',
      });
    });
  });
});

describe('workSmall', () => {
  const enqueueSmall = (ids: readonly string[], priority?: number) =>
    queues.pool.withTransaction((transaction) =>
      sender.enqueueSmall(transaction, ids.map(toJob), priority === undefined ? {} : { priority }),
    );
  /** A worker that records its groups, and the jobs that it gets separately. */
  const startGroups = async (handle: (id: string) => GroupedOutcome) => {
    const worker = await queues.open('worker');
    const groups: string[][] = [];
    const alone: string[] = [];
    await worker.workSmall({ concurrency: 1, pollIntervalMs }, async (jobs) => {
      groups.push(jobs.map(({ transcriptId }) => transcriptId));
      return jobs.map(({ transcriptId }) => handle(transcriptId));
    });
    await worker.work({ concurrency: 1, pollIntervalMs }, async ({ transcriptId }) => {
      alone.push(transcriptId);
      return DONE;
    });
    return { worker, groups, alone };
  };

  it('takes small ones together, up to a bound, higher priorities first', async () => {
    const ids = Array.from({ length: MAX_GROUP_JOBS + 6 }, (_, index) => `t${index}`);
    await enqueueSmall(ids);
    await enqueueSmall(['first'], 5);
    await queues.enqueue(sender, toJob('large'));
    const { groups, alone } = await startGroups(() => 'done');
    await vi.waitFor(() => expect(groups.flat().sort()).toEqual([...ids, 'first'].sort()));
    expect(groups.map((group) => group.length)).toEqual([MAX_GROUP_JOBS, 7]);
    expect(groups[0]).toContain('first');
    await vi.waitFor(() => expect(alone).toEqual(['large']));
    await vi.waitFor(async () => expect(await isPending('t1')).toBe(false));
  });

  it('gives those to be done alone to a worker one by one, and counts no attempt for the group', async () => {
    await enqueueSmall(['a', 'b', 'c'], 3);
    const { groups, alone } = await startGroups((id) => (id === 'b' ? 'alone' : 'done'));
    await vi.waitFor(() => expect(alone).toEqual(['b']));
    expect(groups.map((group) => group.sort())).toEqual([['a', 'b', 'c']]);
    const jobs = await queues.readJobs();
    expect(jobs.filter(({ name }) => name === INGEST_QUEUE)).toMatchObject([
      { data: toJob('b'), retry_count: 0, priority: 3 },
    ]);
  });

  it('never groups a job again after a worker was killed with it', async () => {
    await enqueueSmall(['a', 'b']);
    // As the supervisor leaves the jobs of a dead worker.
    await queues.pool.pool.query(
      `UPDATE pgboss.job SET state = 'retry', started_on = now(), start_after = now() WHERE name = $1`,
      [SMALL_INGEST_QUEUE],
    );
    await enqueueSmall(['new']);
    const { groups, alone } = await startGroups(() => 'done');
    await vi.waitFor(() => expect(alone.sort()).toEqual(['a', 'b']));
    await vi.waitFor(() => expect(groups.flat()).toEqual(['new']));
  });

  it('finishes those before it works the others, so that another group that kills its worker costs them no attempt', async () => {
    await enqueueSmall(['retried']);
    await queues.pool.pool.query(
      `UPDATE pgboss.job SET state = 'retry', started_on = now(), start_after = now() WHERE name = $1`,
      [SMALL_INGEST_QUEUE],
    );
    await enqueueSmall(['new']);
    const worker = await queues.open('worker');
    const statesMeanwhile: unknown[] = [];
    await worker.workSmall({ concurrency: 1, pollIntervalMs }, async (jobs) => {
      if (jobs.length > 0) {
        const { rows } = await queues.pool.pool.query(
          `SELECT name, state FROM pgboss.job WHERE data->>'transcriptId' = 'retried' ORDER BY name`,
        );
        statesMeanwhile.push(rows);
      }
      return jobs.map(() => 'done');
    });
    await vi.waitFor(() => expect(statesMeanwhile).toHaveLength(1));
    expect(statesMeanwhile[0]).toEqual([
      { name: INGEST_QUEUE, state: 'created' },
      { name: SMALL_INGEST_QUEUE, state: 'completed' },
    ]);
  });
});

describe('errors while a worker looks for jobs', () => {
  it('are reported with their code, and survived', async () => {
    const { taken } = await startWorker();
    await queues.pool.pool.query('ALTER TABLE pgboss.job_common RENAME TO job_away');
    const isReported = () =>
      expect(queues.errors).toContainEqual(expect.objectContaining({ code: '42P01', worker: expect.any(String) }));
    await vi
      .waitFor(isReported)
      .finally(() => queues.pool.pool.query('ALTER TABLE pgboss.job_away RENAME TO job_common'));
    expect(queues.errors.every((error) => error instanceof Error)).toBe(true);
    await queues.enqueue(sender, toJob('t1'));
    await vi.waitFor(() => expect(taken).toEqual(['t1']));
    queues.errors.length = 0;
  });
});

describe('stop', () => {
  it('waits for the running job, and starts no other', async () => {
    for (const id of ['t1', 't2', 't3']) await queues.enqueue(sender, toJob(id), 7);
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<JobOutcome>();
    const { worker, taken } = await startWorker(() => mayEnd);
    await vi.waitFor(() => expect(taken).toEqual(['t1']));
    let isStopped = false;
    const stopping = worker.stop(30_000).then(() => {
      isStopped = true;
    });
    // Stops later, but has nothing to wait for.
    await (await queues.open('sender')).stop(30_000);
    expect(isStopped).toBe(false);
    end(DONE);
    await stopping;
    expect(taken).toEqual(['t1']);
    expect(await isPending('t1')).toBe(false);

    const waiting = (await queues.readJobs()).filter(({ state }) => state === 'created');
    expect(waiting).toMatchObject(['t2', 't3'].map((id) => ({ data: toJob(id), retry_count: 0, priority: 7 })));
    const other = await startWorker();
    await vi.waitFor(() => expect(other.taken).toEqual(['t2', 't3']));
  });

  it('leaves a job that does not end in time to another attempt', async () => {
    await queues.enqueue(sender, toJob('t1'));
    const first = await startWorker(() => new Promise(() => {}));
    await vi.waitFor(() => expect(first.taken).toEqual(['t1']));
    await first.worker.stop(1000);
    // The handler continues after its queue was closed, and fails.
    queues.errors.length = 0;
    expect(await queues.readJobs()).toMatchObject([{ state: 'retry', data: toJob('t1') }]);
  });
});

it('gives the job of a killed worker to another one long before the attempt would expire', async () => {
  await queues.enqueue(sender, toJob('t1'));
  const fixture = fileURLToPath(new URL('fixtures/hold-job.ts', import.meta.url));
  const doomed = spawn(process.execPath, [fixture, queues.connectionString], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    doomed.kill('SIGKILL');
  });
  const [line] = await once(doomed.stdout, 'data');
  expect(String(line)).toBe('t1\n');
  const { taken } = await startWorker();
  doomed.kill('SIGKILL');
  await once(doomed, 'exit');
  expect(taken).toEqual([]);
  // As if the time had passed until a silent worker counts as dead. With a real one, test/src/worker-killed.e2e.
  const { rows } = await queues.pool.pool.query<{ seconds: number }>(
    `UPDATE pgboss.job SET heartbeat_on = heartbeat_on - heartbeat_seconds * interval '1 second'
     WHERE state = 'active' RETURNING heartbeat_seconds AS seconds`,
  );
  expect(rows).toEqual([{ seconds: 10 }]);
  await vi.waitFor(() => expect(taken).toEqual(['t1']));
});

it('does not depend on the isolation that the database has by default', async () => {
  const { rows } = await queues.pool.pool.query<{ name: string }>('SELECT current_database() AS name');
  await queues.pool.pool.query(`ALTER DATABASE ${rows[0]?.name} SET default_transaction_isolation = 'serializable'`);
  await queues.pool.pool.query(`
    CREATE FUNCTION pgboss.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF current_setting('transaction_isolation') = 'serializable' THEN RAISE 'serializable'; END IF; RETURN NEW;
    END $$;
    CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON pgboss.job FOR EACH ROW EXECUTE FUNCTION pgboss.refuse()`);
  await queues.pool.withTransaction((transaction) => sender.enqueue(transaction, toJob('t1')));
  const { taken } = await startWorker();
  await vi.waitFor(() => expect(taken).toEqual(['t1']));
  await vi.waitFor(async () => expect(await isPending('t1')).toBe(false));
});
