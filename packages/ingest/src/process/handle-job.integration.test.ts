import { rm, writeFile } from 'node:fs/promises';
import { ensureWorkspace, type IngestJob, listTranscripts, lockSession, verifyUsage } from '@recount/db';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { verifyTranscripts } from '../consistency/verify-transcripts.ts';
import { MAX_GROUPED_BYTES } from '../limits.ts';
import { requeueTranscript } from '../queue/requeue-transcript.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toLine,
  toTranscript,
} from '../testing/test-installation.ts';
import { type BatchOutcome, handleBatch } from './handle-batch.ts';
import { handleJob } from './handle-job.ts';
import type { JobReport } from './job-report.ts';

const OPTIONS = { maxLineBytes: 1024 * 1024 };

let installation: TestInstallation;
let reports: JobReport[];
let workspaceCount = 0;
const toDeps = () => ({ ...installation, onReport: (report: JobReport) => void reports.push(report) });
const listJobs = async (workspaceId = TEST_WORKSPACE): Promise<IngestJob[]> =>
  (await installation.listJobs()).filter((job) => job.workspaceId === workspaceId);
const work = (jobs: readonly IngestJob[]): Promise<BatchOutcome[]> => handleBatch(toDeps(), jobs, OPTIONS);

beforeEach(async () => {
  reports = [];
  await installation.clearJobs();
});
beforeAll(async () => {
  installation = await createTestInstallation();
  // Fails in the middle of a group, after its raw object was read and verified.
  const { pool } = installation.database;
  await pool.query(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`,
  );
  await pool.query(`
    CREATE TRIGGER refuse BEFORE INSERT ON recount.content_blocks FOR EACH ROW
    WHEN (NEW.content_text LIKE '%poison%') EXECUTE FUNCTION refuse()`);
});
afterAll(() => installation.close());

const readRow = async (workspaceId: string, id: string) => {
  const [row] = await listTranscripts(installation.database.database, workspaceId, { ids: [id] }, { limit: 1 });
  return row;
};

describe('a batch', () => {
  it('is ingested in one transaction, with one attempt each', async () => {
    for (const session of ['g1', 'g2', 'g3']) await installation.receive(toTranscript(session, 6));
    const jobs = await listJobs();
    expect(await work(jobs)).toEqual(['done', 'done', 'done']);
    const rows = await Promise.all(jobs.map((job) => readRow(TEST_WORKSPACE, job.transcriptId)));
    for (const row of rows) expect(row).toMatchObject({ status: 'ingested', attempt_count: 1, total_messages: 6 });
    expect(new Set(rows.map((row) => row?.ingested_at)).size).toBe(1);
    const done = rows.map((row) => ({ sizeBytes: row?.size_bytes, attempt: 1 }));
    expect(reports.filter(({ outcome }) => outcome === 'done')).toMatchObject(done);
    expect(await work(jobs)).toEqual(['alone', 'alone', 'alone']);
  });

  it('keeps the checkpoints of growing transcripts', async () => {
    const ids: string[] = [];
    for (const session of ['p1', 'p2']) {
      const text = toLine(session, 0, { message: { role: 'user', content: 'x'.repeat(OPTIONS.maxLineBytes / 2) } });
      ids.push((await installation.receive(text.repeat(12), {})).transcript.id);
    }
    expect(await work(await listJobs())).toEqual(['done', 'done']);
    const { rows: checkpoints } = await installation.database.pool.query(
      'SELECT row_set_id FROM recount.transcript_checkpoints WHERE row_set_id = ANY($1) ORDER BY row_set_id',
      [ids],
    );
    expect(checkpoints.map(({ row_set_id }) => row_set_id)).toEqual(ids.toSorted());
  });

  it('takes second versions and streams, and leaves out what must wait or be done alone', async () => {
    const receive = async (...request: Parameters<TestInstallation['receive']>): Promise<IngestJob> => {
      const { transcript } = await installation.receive(...request);
      return { workspaceId: TEST_WORKSPACE, transcriptId: transcript.id };
    };
    const ingestedBefore = await receive(toTranscript('known', 2));
    await handleJob(toDeps(), ingestedBefore, OPTIONS);
    const long = toLine('long', 0, { message: { role: 'user', content: 'x'.repeat(MAX_GROUPED_BYTES) } });
    const held = await receive(toTranscript('held', 4));
    const again = await receive(toTranscript('again', 4));
    await requeueTranscript(installation, again, ['queued']);
    await installation.database.pool.query(`UPDATE recount.transcripts SET attempt_count = 1 WHERE id = $1`, [
      again.transcriptId,
    ]);
    const jobs = [
      await receive(toTranscript('plain', 4)),
      await receive(toTranscript('twice', 6)),
      await receive(toTranscript('known', 4)),
      await receive(toTranscript('stream', 4), { format: 'claude-stream-json' }),
      await receive(toTranscript('twice', 4)),
      await receive(long),
      { workspaceId: TEST_WORKSPACE, transcriptId: '01J00000000000000000000GON' },
      again,
      held,
    ];
    const outcomes = await installation.database.withTransaction(async (transaction) => {
      await lockSession(transaction, TEST_WORKSPACE, 'held');
      return await work(jobs);
    });
    const done = Array.from({ length: 4 }, () => 'done');
    expect(outcomes).toEqual([...done, ...Array.from({ length: 5 }, () => 'alone')]);
    expect(await readRow(TEST_WORKSPACE, ingestedBefore.transcriptId)).toMatchObject({ status: 'superseded' });
    expect(await readRow(TEST_WORKSPACE, held.transcriptId)).toMatchObject({ status: 'queued', attempt_count: 0 });
    const left = jobs.map(({ transcriptId }) => transcriptId).filter((id) => !id.endsWith('GON'));
    expect((await listJobs()).map(({ transcriptId }) => transcriptId).sort()).toEqual(left.slice(4).sort());
    expect(await work([held])).toEqual(['done']);
  });

  it('is handed back whole when the worker stops', async () => {
    const abort = new AbortController();
    for (const session of ['h1', 'h2']) await installation.receive(toTranscript(session, 4));
    const jobs = await listJobs();
    const rawStore = {
      ...installation.rawStore,
      get: (...request: Parameters<typeof installation.rawStore.get>) => {
        abort.abort();
        return installation.rawStore.get(...request);
      },
    };
    const options = { ...OPTIONS, signal: abort.signal };
    const expected = ['handed-back', 'handed-back'];
    expect(await handleBatch({ ...toDeps(), rawStore }, jobs, options)).toEqual(expected);
    expect(await handleBatch(toDeps(), jobs, options)).toEqual(expected);
    for (const { transcriptId } of jobs) {
      expect(await readRow(TEST_WORKSPACE, transcriptId)).toMatchObject({ status: 'queued', attempt_count: 0 });
    }
  });
});

it('reports the outcome of each job’s transcript', async () => {
  const { transcript: longer } = await installation.receive(toTranscript('told', 4));
  const { transcript: shorter } = await installation.receive(toTranscript('told', 2));
  for (const transcriptId of [longer.id, shorter.id, '01J00000000000000000000GON']) {
    await handleJob(toDeps(), { workspaceId: TEST_WORKSPACE, transcriptId }, OPTIONS);
  }
  expect(reports).toEqual([
    expect.objectContaining({ outcome: 'done', sizeBytes: longer.size_bytes, attempt: 1 }),
    expect.objectContaining({ outcome: 'superseded', sizeBytes: shorter.size_bytes, attempt: 1 }),
    expect.not.objectContaining({ sizeBytes: expect.anything() }),
  ]);
  expect(reports[2]).toMatchObject({ outcome: 'gone' });
});

type Fault = 'none' | 'missing' | 'changed' | 'poison';
interface Upload {
  session: string;
  lineCount: number;
  fault: Fault;
}

async function receiveAll(workspaceId: string, uploads: readonly Upload[]): Promise<IngestJob[]> {
  for (const { session, lineCount, fault } of uploads) {
    const poison = fault === 'poison' ? toLine(session, 90, { message: { role: 'user', content: 'poison' } }) : '';
    const { transcript } = await installation.receive(toTranscript(session, lineCount) + poison, { workspaceId });
    const path = `${installation.storeDirectory}/${transcript.object_key}`;
    if (fault === 'missing') await rm(path, { force: true });
    if (fault === 'changed') await writeFile(path, toTranscript('somebody else', lineCount));
  }
  return await listJobs(workspaceId);
}

/**
 * Every row of a workspace, without what may differ between equivalent ones, such as ids of uploads, times, the longer
 * version that a beginning was compared with first, and the number of attempts for a contained version.
 */
async function readTables(workspaceId: string): Promise<Record<string, string[]>> {
  const { pool } = installation.database;
  const { rows: uploads } = await pool.query<{ id: string; content: string }>(
    `SELECT id, sha256 || ' of ' || session_id AS content FROM recount.transcripts WHERE workspace_id = $1`,
    [workspaceId],
  );
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns
     WHERE table_schema = 'recount' AND column_name = 'workspace_id'`,
  );
  const dump: Record<string, string[]> = {};
  for (const { name } of tables) {
    // A day is stale as many times as it was written, and texts are in any number of segments.
    if (['api_keys', 'audit_log', 'stale_days', 'ingest_jobs'].includes(name) || name.startsWith('search_')) continue;
    const { rows } = await pool.query<{ row: string }>(
      `SELECT (to_jsonb(t) - ARRAY['workspace_id', 'object_key', 'created_at', 'updated_at', 'ingested_at',
         'waiting_since', 'next_attempt_at', 'superseded_by']
         - CASE WHEN to_jsonb(t)->>'status' = 'superseded' THEN ARRAY['attempt_count'] ELSE '{}' END)::text AS row
       FROM recount.${name} AS t WHERE workspace_id = $1`,
      [workspaceId],
    );
    const withoutIds = (text: string): string =>
      uploads.reduce((result, { id, content }) => result.replaceAll(id, content), text.replaceAll(workspaceId, ''));
    dump[name] = rows.map(({ row }) => withoutIds(row)).sort();
  }
  return dump;
}

/**
 * Repeats the jobs, as the queue does. The existing versions of a session when an unreadable one first failed depend on
 * the order; only the next attempt finds that a longer version contains it.
 */
async function handleAlone(jobs: readonly IngestJob[]): Promise<void> {
  const failed: IngestJob[] = [];
  for (const job of jobs) if ((await handleJob(toDeps(), job, OPTIONS)).status === 'failed') failed.push(job);
  for (const job of failed) await handleJob(toDeps(), job, OPTIONS);
}

async function createWorkspace(): Promise<string> {
  const id = `workspace-${++workspaceCount}`;
  await ensureWorkspace(installation.database.database, id, id);
  return id;
}

const uploadArbitrary = fc.record({
  session: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
  lineCount: fc.integer({ min: 1, max: 8 }),
  fault: fc.oneof(
    { weight: 12, arbitrary: fc.constant('none' as const) },
    { weight: 1, arbitrary: fc.constantFrom<Fault>('missing', 'changed', 'poison') },
  ),
});

it('gives the same rows as one by one, whatever the groups contain, fails, repeats or is cut off', async () => {
  const uploads = fc.uniqueArray(uploadArbitrary, {
    minLength: 1,
    maxLength: 12,
    selector: ({ session, lineCount }) => `${session} ${lineCount}`,
  });
  const groupSizes = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 14, maxLength: 14 });
  /** After this many reads of raw objects a worker disappears, once. */
  const readsUntilCut = fc.option(fc.integer({ min: 1, max: 14 }));
  await fc.assert(
    fc.asyncProperty(uploads, groupSizes, readsUntilCut, async (made, sizes, cutAfter) => {
      const [oneByOne, inGroups] = [await createWorkspace(), await createWorkspace()];
      await handleAlone(await receiveAll(oneByOne, made));
      let jobs = await receiveAll(inGroups, made);
      const alone: IngestJob[] = [];
      const abort = new AbortController();
      let reads = 0;
      const get: typeof installation.rawStore.get = async (...request) => {
        if (++reads === cutAfter) abort.abort();
        return await installation.rawStore.get(...request);
      };
      const deps = { ...toDeps(), rawStore: { ...installation.rawStore, get } };
      while (jobs.length > 0) {
        const groups = sizes.map((size) => jobs.splice(0, size)).filter((group) => group.length > 0);
        const options = abort.signal.aborted ? OPTIONS : { ...OPTIONS, signal: abort.signal };
        // All together, as if by many workers.
        const outcomes = await Promise.all(groups.map((group) => handleBatch(deps, group, options)));
        const taken = groups.flatMap((group, index) =>
          group.map((job, place) => ({ job, outcome: outcomes[index]?.[place] })),
        );
        alone.push(...taken.filter(({ outcome }) => outcome === 'alone').map(({ job }) => job));
        jobs = taken.filter(({ outcome }) => outcome === 'handed-back').map(({ job }) => job);
      }
      alone.sort((a, b) => (a.transcriptId < b.transcriptId ? -1 : 1));
      await handleAlone(alone);
      expect(await readTables(inGroups)).toEqual(await readTables(oneByOne));
      const { database } = installation;
      for (const check of await database.withSnapshot((snapshot) => verifyUsage(snapshot, inGroups))) {
        expect(check).toMatchObject({ missing: 0, surplus: 0 });
      }
      const { checks } = await verifyTranscripts(installation, inGroups, OPTIONS);
      expect(checks.filter(({ missing, surplus }) => missing + surplus > 0)).toEqual([]);
    }),
  );
});
