import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTestPool } from '../testing/create-test-pool.ts';
import {
  deleteJobs,
  enqueueJobs,
  findJobs,
  holdJobs,
  JOB_CHANNEL,
  readBacklog,
  releaseJobs,
  takeBatch,
  takeJob,
} from './ingest-jobs.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
beforeEach(async () => {
  await pool.pool.query('DELETE FROM recount.ingest_jobs');
});
afterAll(() => pool.close());

const MIB = 1024 * 1024;

interface Made {
  workspaceId?: string;
  sizeBytes?: number;
  isAlone?: boolean;
  priority?: number;
}
const enqueue = (
  ids: readonly string[],
  { workspaceId = 'w', sizeBytes = 1, isAlone = false, priority = 0 }: Made = {},
) =>
  enqueueJobs(
    pool.database,
    workspaceId,
    ids.map((transcriptId) => ({ transcriptId, sizeBytes, isAlone })),
    { priority },
  );
const takeIds = async () => (await takeBatch(pool.database)).jobs.map(({ transcriptId }) => transcriptId);
const takeId = async () => (await takeJob(pool.database))?.transcriptId;
/** As if a worker had taken them a while ago and was killed. */
const letTimePass = () => pool.pool.query(`UPDATE recount.ingest_jobs SET taken_at = now() - interval '1 minute'`);

it('exist if and only if their transaction commits, once for each transcript', async () => {
  const failing = pool.withTransaction(async (transaction) => {
    await enqueueJobs(transaction, 'w', [{ transcriptId: 'a', sizeBytes: 1, isAlone: false }]);
    expect(await takeIds()).toEqual([]);
    throw new Error('rolled back');
  });
  await expect(failing).rejects.toThrow('rolled back');
  expect(await takeIds()).toEqual([]);
  await enqueue(['a']);
  await enqueue(['a', 'b'], { isAlone: true });
  expect(await takeIds()).toEqual(['a']);
  expect(await takeId()).toBe('b');
});

it('notify workers of the kinds that were added or handed back', async () => {
  const client = await pool.pool.connect();
  const payloads: unknown[] = [];
  client.on('notification', ({ payload }) => payloads.push(payload));
  await client.query(`LISTEN ${JOB_CHANNEL}`);
  await enqueue(['a', 'b']);
  await vi.waitFor(() => expect(payloads).toEqual(['batch']));
  await enqueue(['a']);
  await enqueue(['c'], { isAlone: true });
  await vi.waitFor(() => expect(payloads).toEqual(['batch', 'alone']));
  await releaseJobs(pool.database, 'w', ['a'], { isAlone: true, pauseSeconds: 60 });
  await releaseJobs(pool.database, 'w', ['b', 'unknown'], { isAlone: false });
  await vi.waitFor(() => expect(payloads).toEqual(['batch', 'alone', 'batch']));
  client.release(true);
});

describe('a batch', () => {
  it('has jobs of the workspace that is first in the queue, by priority and age', async () => {
    await enqueue(['a1', 'a2'], { workspaceId: 'a' });
    await enqueue(['b1'], { workspaceId: 'b' });
    await enqueue(['a3'], { workspaceId: 'a' });
    await enqueue(['c1'], { workspaceId: 'c', priority: -1 });
    await enqueue(['d1'], { workspaceId: 'd', priority: 1 });
    const batches = [await takeIds(), await takeIds(), await takeIds(), await takeIds(), await takeIds()];
    expect(batches).toEqual([['d1'], ['a1', 'a2', 'a3'], ['b1'], ['c1'], []]);
  });

  it('has as many jobs as fit into a transaction, and at least one', async () => {
    await enqueue(['a', 'b', 'c', 'd', 'e'], { sizeBytes: 8 * MIB });
    expect([await takeIds(), await takeIds()]).toEqual([['a', 'b', 'c', 'd'], ['e']]);
    await enqueue(['f', 'g'], { sizeBytes: 100 * MIB });
    expect([await takeIds(), await takeIds()]).toEqual([['f'], ['g']]);
    const many = Array.from({ length: 130 }, (_, index) => `t${String(index).padStart(3, '0')}`);
    await enqueue(many);
    expect([await takeIds(), await takeIds()]).toEqual([many.slice(0, 128), many.slice(128)]);
    // Jobs of another workspace between them make it no smaller.
    for (const id of many.slice(0, 20)) {
      await enqueue([id], { workspaceId: 'a' });
      await enqueue(many.map((other) => `${id}/${other}`).slice(0, 10), { workspaceId: 'b' });
    }
    expect(await takeIds()).toEqual(many.slice(0, 20));
  });

  it('is never made again of jobs whose worker was killed with it: each is then taken alone', async () => {
    await enqueue(['a', 'b']);
    expect(await takeIds()).toEqual(['a', 'b']);
    // The worker still has time to lock them.
    expect([await takeIds(), await takeId()]).toEqual([[], undefined]);
    await letTimePass();
    expect([await takeIds(), await takeId(), await takeId()]).toEqual([[], 'a', 'b']);
  });

  it('is taken by one of several workers, and the others are told that there may be more', async () => {
    const ids = Array.from({ length: 60 }, (_, index) => `t${index}`);
    await enqueue(ids, { sizeBytes: 6 * MIB });
    const taken: string[] = [];
    const work = async (): Promise<void> => {
      for (;;) {
        const { jobs, isBusy } = await takeBatch(pool.database);
        taken.push(...jobs.map(({ transcriptId }) => transcriptId));
        if (jobs.length === 0 && !isBusy) return;
      }
    };
    await Promise.all(Array.from({ length: 6 }, work));
    expect(taken.sort()).toEqual(ids.sort());
  });

  it('leaves out jobs that a deletion holds', async () => {
    await enqueue(['a', 'b']);
    await pool.withTransaction(async (transaction) => {
      await deleteJobs(transaction, 'w', ['a']);
      expect(await takeIds()).toEqual(['b']);
    });
  });
});

describe('a job taken alone', () => {
  it('is the first by priority and age that no one holds and whose pause is over', async () => {
    await enqueue(['low'], { isAlone: true, priority: -1 });
    await enqueue(['held', 'paused', 'next'], { isAlone: true });
    await enqueue(['high'], { isAlone: true, priority: 9 });
    await releaseJobs(pool.database, 'w', ['paused'], { isAlone: true, pauseSeconds: 600 });
    await pool.withTransaction(async (transaction) => {
      expect([...(await holdJobs(transaction, 'w', ['held']))]).toEqual(['held']);
      expect([await takeId(), await takeId(), await takeId(), await takeId()]).toEqual([
        'high',
        'next',
        'low',
        undefined,
      ]);
    });
    expect(await takeId()).toBe('held');
  });

  it('can be taken immediately when the transaction that held it ends', async () => {
    await enqueue(['a'], { isAlone: true });
    expect(await takeId()).toBe('a');
    await letTimePass();
    const dying = pool.withTransaction(async (transaction) => {
      await holdJobs(transaction, 'w', ['a']);
      expect(await takeId()).toBeUndefined();
      throw new Error('killed');
    });
    await expect(dying).rejects.toThrow('killed');
    expect(await takeId()).toBe('a');
  });

  it('says how many outages it has had', async () => {
    await enqueue(['a'], { isAlone: true });
    const release = { isAlone: true, countsOutage: true };
    for (const outageCount of [0, 1, 2]) {
      expect(await takeJob(pool.database)).toEqual({ workspaceId: 'w', transcriptId: 'a', outageCount });
      expect(await releaseJobs(pool.database, 'w', ['a'], release)).toBe(1);
    }
  });
});

it('are held by one transaction at a time', async () => {
  await enqueue(['a', 'b', 'c']);
  await pool.withTransaction(async (first) => {
    expect(await holdJobs(first, 'w', ['a', 'b', 'unknown'])).toEqual(new Set(['a', 'b']));
    await pool.withTransaction(async (second) => {
      expect(await holdJobs(second, 'w', ['b', 'c'])).toEqual(new Set(['c']));
      expect(await releaseJobs(second, 'w', ['b'], { isAlone: true })).toBe(0);
      await deleteJobs(second, 'w', ['b']);
    });
    expect(await releaseJobs(first, 'w', ['b'], { isAlone: true })).toBe(1);
    await deleteJobs(first, 'w', ['a']);
  });
  expect(await takeIds()).toEqual(['c']);
  expect(await takeId()).toBe('b');
});

it('handed back by a stopping worker can be taken in a batch again', async () => {
  await enqueue(['a', 'b']);
  await takeIds();
  await releaseJobs(pool.database, 'w', ['a', 'b'], { isAlone: false });
  expect(await takeIds()).toEqual(['a', 'b']);
});

it('are deleted with their workspace, or some of its transcripts, and no others', async () => {
  for (const workspaceId of ['w', 'v']) await enqueue(['a', 'b', 'c'], { workspaceId });
  const readAll = async () =>
    (await pool.pool.query('SELECT workspace_id || transcript_id AS id FROM recount.ingest_jobs ORDER BY 1')).rows.map(
      ({ id }) => id,
    );
  await deleteJobs(pool.database, 'w', []);
  expect(await readAll()).toHaveLength(6);
  await deleteJobs(pool.database, 'w', ['a', 'unknown']);
  expect(await readAll()).toEqual(['va', 'vb', 'vc', 'wb', 'wc']);
  await deleteJobs(pool.database, 'w');
  expect(await readAll()).toEqual(['va', 'vb', 'vc']);
});

it('are found by the transcripts of several workspaces', async () => {
  await enqueue(['a', 'b']);
  await enqueue(['c'], { workspaceId: 'v', isAlone: true });
  await takeId();
  const jobs = ['w a', 'w d', 'v c', 'v b'].map((name) => {
    const [workspaceId = '', transcriptId = ''] = name.split(' ');
    return { workspaceId, transcriptId };
  });
  expect(await findJobs(pool.database, jobs)).toEqual(new Set(['a', 'c']));
});

it('make the backlog while no worker has them, with the age of the oldest', async () => {
  expect(await readBacklog(pool.database)).toEqual({ waitingCount: 0, oldestAgeMs: 0 });
  await enqueue(['a', 'b']);
  await enqueue(['c', 'd'], { isAlone: true });
  await pool.pool.query(`UPDATE recount.ingest_jobs SET created_at = now() - CASE transcript_id
    WHEN 'a' THEN interval '3 hours' WHEN 'd' THEN interval '1 hour' ELSE interval '0' END`);
  const { waitingCount, oldestAgeMs } = await readBacklog(pool.database);
  expect(waitingCount).toBe(4);
  expect(oldestAgeMs).toBeGreaterThanOrEqual(3 * 3_600_000);
  expect(oldestAgeMs).toBeLessThan(3.5 * 3_600_000);
  await takeIds();
  await takeId();
  await releaseJobs(pool.database, 'w', ['b'], { isAlone: true, pauseSeconds: 60 });
  const left = await readBacklog(pool.database);
  expect(left.waitingCount).toBe(2);
  expect(left.oldestAgeMs).toBeLessThan(3_600_000);
});

it('are read in order from an index, however many wait', async () => {
  await pool.pool.query(`
    INSERT INTO recount.ingest_jobs (workspace_id, transcript_id, size_bytes, is_alone)
    SELECT 'w', 't' || n, 1, n % 2 = 0 FROM generate_series(1, 20000) AS n`);
  await pool.pool.query('ANALYZE recount.ingest_jobs');
  const { rows } = await pool.pool.query(`
    EXPLAIN SELECT transcript_id FROM recount.ingest_jobs WHERE NOT is_alone
    ORDER BY priority DESC, created_at, transcript_id LIMIT 128`);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('ingest_jobs_order');
  expect(plan).not.toContain('Sort');
});
