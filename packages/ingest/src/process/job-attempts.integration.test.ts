import { claimTranscript, type TakenJob, takeJob } from '@recount/db';
import { RawStoreError } from '@recount/storage';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_ATTEMPTS, MAX_OUTAGES } from '../queue/attempts.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toLine,
  toTranscript,
} from '../testing/test-installation.ts';
import { endPauses } from '../testing/work-jobs.ts';
import { handleJob } from './handle-job.ts';
import type { HandleDeps } from './job-report.ts';

const OPTIONS = { maxLineBytes: 1024 * 1024 };

let installation: TestInstallation;
let sessionNumber = 0;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());
beforeEach(() => installation.clearJobs());

/** A transcript that is taken alone, as it was tried in a batch. */
async function receive(): Promise<string> {
  const { transcript } = await installation.receive(toTranscript(`s${++sessionNumber}`, 4));
  await installation.database.pool.query('UPDATE recount.ingest_jobs SET is_alone = true');
  return transcript.id;
}

async function take(): Promise<TakenJob> {
  await endPauses(installation.database);
  return (await takeJob(installation.database.database)) ?? expect.fail('no job');
}

const isAway: HandleDeps['rawStore']['get'] = async () => {
  throw new RawStoreError('unavailable', 'S3: HTTP 503');
};
const isLost: HandleDeps['rawStore']['get'] = async () => {
  throw new RawStoreError('not-found', 'No raw object');
};

async function work(
  get: HandleDeps['rawStore']['get'],
  { isShared = false, signal = new AbortController().signal } = {},
) {
  const rawStore = { ...installation.rawStore, get };
  const outages = { isShared: async () => isShared };
  const deps = { database: installation.database, rawStore, outages, onReport: () => undefined };
  return (await handleJob(deps, await take(), { ...OPTIONS, signal })).status;
}

async function readJob() {
  const { rows } = await installation.database.pool.query<{ pause: number | null; outage_count: number }>(
    `SELECT extract(epoch FROM not_before - now())::float8 AS pause, outage_count, taken_at FROM recount.ingest_jobs`,
  );
  return rows[0];
}

it('are five, after growing pauses; then the transcript is failed, and has no job', async () => {
  const id = await receive();
  for (let attempt = 1; attempt < MAX_ATTEMPTS; attempt++) {
    const startMs = performance.now();
    expect(await work(isLost)).toBe('failed');
    expect(await installation.find(id)).toMatchObject({ status: 'queued', attempt_count: attempt });
    const pause = (await readJob())?.pause ?? 0;
    // Some time has passed since the pause began.
    expect(pause + (performance.now() - startMs) / 1000).toBeGreaterThan(2 ** (attempt - 1) / 2);
    expect(pause).toBeLessThanOrEqual(2 ** attempt);
  }
  expect(await work(isLost)).toBe('failed');
  expect(await installation.find(id)).toMatchObject({
    ...{ status: 'failed', attempt_count: MAX_ATTEMPTS, failure_reason: 'RawStoreError: No raw object' },
  });
  expect(await readJob()).toBeUndefined();
});

it('count if they kill their worker, too', async () => {
  const id = await receive();
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    await claimTranscript(installation.database.database, TEST_WORKSPACE, id);
  }
  expect(await work(installation.rawStore.get)).toBe('failed');
  expect(await installation.find(id)).toMatchObject({
    status: 'failed',
    attempt_count: MAX_ATTEMPTS,
    failure_reason: 'Every worker that took it ended before it was done',
  });
  expect(await readJob()).toBeUndefined();
});

describe('an outage', () => {
  it('counts as no attempt, up to the limit, and puts the job off for longer each time', async () => {
    const id = await receive();
    await work(isLost);
    let longest = 0;
    for (let outage = 1; outage <= MAX_OUTAGES; outage++) {
      expect(await work(isAway)).toBe('outage');
      const { pause, outage_count } = (await readJob()) ?? expect.fail();
      expect(outage_count).toBe(outage);
      longest = Math.max(longest, pause ?? 0);
    }
    expect(longest).toBeGreaterThan(200);
    expect(longest).toBeLessThanOrEqual(300);
    expect(await installation.find(id)).toMatchObject({ status: 'queued', attempt_count: 1 });
    for (let attempt = 2; attempt <= MAX_ATTEMPTS; attempt++) expect(await work(isAway)).toBe('failed');
    expect(await installation.find(id)).toMatchObject({ status: 'failed', attempt_count: MAX_ATTEMPTS });
  });

  it('counts neither as an attempt nor as one of the job’s own, if it is a general one', async () => {
    const id = await receive();
    for (let count = 0; count <= MAX_OUTAGES; count++) expect(await work(isAway, { isShared: true })).toBe('outage');
    expect(await readJob()).toMatchObject({ outage_count: 0 });
    expect(await installation.find(id)).toMatchObject({ status: 'queued', attempt_count: 0 });
    expect(await work(installation.rawStore.get)).toBe('done');
    expect(await installation.find(id)).toMatchObject({ status: 'ingested', attempt_count: 1 });
  });

  it('counts as no attempt at the last one either', async () => {
    const id = await receive();
    for (let attempt = 1; attempt < MAX_ATTEMPTS; attempt++) await work(isLost);
    for (let count = 0; count < 2; count++) expect(await work(isAway)).toBe('outage');
    expect(await work(installation.rawStore.get)).toBe('done');
    expect(await installation.find(id)).toMatchObject({ status: 'ingested', attempt_count: MAX_ATTEMPTS });
  });

  it('delays the withdrawal of the attempt until the database works again', async () => {
    const id = await receive();
    const { pool } = installation.database;
    await pool.query(`CREATE FUNCTION public.refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'read-only' USING ERRCODE = '25006'; END $$`);
    const asking = vi.spyOn(pool, 'query');
    const working = work(async (...object) => {
      await pool.query(`CREATE TRIGGER refuse_update BEFORE UPDATE ON recount.transcripts
        FOR EACH ROW EXECUTE FUNCTION public.refuse_update()`);
      return await isAway(...object);
    });
    const listWithdrawals = () =>
      asking.mock.calls.filter(([query]) =>
        /^update .*"attempt_count" - 1/.test((query as { text?: string }).text ?? ''),
      );
    await expect.poll(() => listWithdrawals().length).toBeGreaterThan(2);
    asking.mockRestore();
    await pool.query('DROP TRIGGER refuse_update ON recount.transcripts');
    await pool.query('DROP FUNCTION public.refuse_update');
    expect(await working).toBe('outage');
    expect(await installation.find(id)).toMatchObject({ status: 'queued', attempt_count: 0 });
    expect(await readJob()).toMatchObject({ outage_count: 1 });
  });
});

it('a job that a stopping worker hands back is free immediately, and counts no attempt', async () => {
  const id = await receive();
  const stopping = new AbortController();
  const outcome = await work(
    async (...object) => {
      stopping.abort();
      return await installation.rawStore.get(...object);
    },
    { signal: stopping.signal },
  );
  expect(outcome).toBe('handed-back');
  expect(await installation.find(id)).toMatchObject({ status: 'queued', attempt_count: 0, failure_reason: null });
  expect(await readJob()).toEqual({ pause: null, outage_count: 0, taken_at: null });
});

it('a job whose transcript was deleted, or is ingested already, disappears', async () => {
  const gone = await receive();
  await installation.database.pool.query('DELETE FROM recount.transcripts WHERE id = $1', [gone]);
  expect(await work(installation.rawStore.get)).toBe('done');
  expect(await readJob()).toBeUndefined();
  const done = await receive();
  await installation.database.pool.query(`UPDATE recount.transcripts SET status = 'ingested' WHERE id = $1`, [done]);
  expect(await work(installation.rawStore.get)).toBe('done');
  expect(await readJob()).toBeUndefined();
});

it('an attempt that fails in the middle of its rows leaves the job to the next one', async () => {
  const { pool } = installation.database;
  await pool.query(
    `CREATE FUNCTION public.refuse_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`,
  );
  await pool.query(`
    CREATE TRIGGER refuse_row BEFORE INSERT ON recount.content_blocks FOR EACH ROW
    WHEN (NEW.content_text LIKE '%poison%') EXECUTE FUNCTION public.refuse_row()`);
  const text = toLine('poisoned', 0, { message: { role: 'user', content: 'poison' } });
  const { transcript } = await installation.receive(text);
  await pool.query('UPDATE recount.ingest_jobs SET is_alone = true');
  expect(await work(installation.rawStore.get)).toBe('failed');
  expect(await readJob()).toMatchObject({ taken_at: null });
  await pool.query('DROP TRIGGER refuse_row ON recount.content_blocks');
  await pool.query('DROP FUNCTION public.refuse_row');
  expect(await work(installation.rawStore.get)).toBe('done');
  expect(await installation.find(transcript.id)).toMatchObject({ status: 'ingested', attempt_count: 2 });
});
