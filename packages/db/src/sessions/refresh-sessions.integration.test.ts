import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OPERATOR } from '../schema/transcripts.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestTranscript } from '../testing/insert-test-transcript.ts';
import { listTranscripts } from '../transcripts/read-transcripts.ts';
import { setTranscriptStatus } from '../transcripts/transcript-status.ts';
import { supersedeTranscripts } from '../transcripts/transcript-versions.ts';
import { findSession } from './read-sessions.ts';
import { refreshSessions } from './refresh-sessions.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());
beforeEach(() => pool.pool.query('TRUNCATE recount.transcripts, recount.sessions'));

const refresh = () => refreshSessions(pool.database, TEST_WORKSPACE, ['session']);
const readSession = () => findSession(pool.database, TEST_WORKSPACE, 'session');
async function listDiverged(): Promise<string[]> {
  const rows = await listTranscripts(pool.database, TEST_WORKSPACE, { sessionId: 'session' }, { limit: 100 });
  return rows.filter(({ is_diverged }) => is_diverged).map(({ id }) => id);
}

it('takes the figures of the longest transcript, and marks the others as diverged', async () => {
  const figures = {
    total_messages: 7,
    tokens_out: 2 ** 40,
    cost_estimate_usd: 0.0000000001,
    models: ['a', 'b'],
    title: 'long',
    last_timestamp: '2026-01-01T00:00:00.123Z',
    metadata: { entrypoint: 'cli' },
  };
  await insertTestTranscript(pool, { id: 't1', size_bytes: 10, total_messages: 9 });
  await insertTestTranscript(pool, { id: 't2', size_bytes: 30, is_subagent: true, parent_session_id: 'p', ...figures });
  await insertTestTranscript(pool, { id: 't3', size_bytes: 20 });
  await insertTestTranscript(pool, { id: 't4', size_bytes: 99, status: 'queued', ingested_at: null });
  await insertTestTranscript(pool, { id: 't5', size_bytes: 99, session_id: 'another' });
  await insertTestTranscript(pool, { id: 't6', size_bytes: 99, workspace_id: OTHER_WORKSPACE });
  await refresh();
  const expected = { ...figures, primary_transcript_id: 't2', transcript_count: 3, is_subagent: true };
  expect(await readSession()).toMatchObject({ ...expected, parent_session_id: 'p' });
  expect(await listDiverged()).toEqual(['t1', 't3']);
  await refresh();
  expect(await readSession()).toMatchObject(expected);
  expect(await findSession(pool.database, OTHER_WORKSPACE, 'session')).toBeUndefined();
});

it('decides between transcripts of the same size by their hash', async () => {
  await insertTestTranscript(pool, { id: 't1', sha256: 'bbb' });
  await insertTestTranscript(pool, { id: 't2', sha256: 'aaa' });
  await insertTestTranscript(pool, { id: 't3', sha256: 'ccc' });
  await refresh();
  expect((await readSession())?.primary_transcript_id).toBe('t2');
  expect(await listDiverged()).toEqual(['t1', 't3']);
});

it('prefers uploads of the owner, who uploaded the first transcript, to longer ones of others', async () => {
  await insertTestTranscript(pool, {
    id: 't1',
    size_bytes: 5,
    uploader_key_id: 'ada',
    ingested_at: null,
    superseded_by: 't3',
  });
  await insertTestTranscript(pool, { id: 't2', size_bytes: 99, uploader_key_id: 'bob' });
  await insertTestTranscript(pool, { id: 't3', size_bytes: 10, uploader_key_id: 'ada', format: 'claude-stream-json' });
  await insertTestTranscript(pool, {
    id: 't0',
    size_bytes: 99,
    uploader_key_id: 'bob',
    ingested_at: null,
    status: 'failed',
  });
  await refresh();
  const owned = { primary_transcript_id: 't3', uploader_key_id: 'ada', transcript_count: 2, other_uploader_count: 1 };
  expect(await readSession()).toMatchObject(owned);
  expect(await listDiverged()).toEqual(['t2']);
});

it('lets anyone extend a session, and treats unknown uploaders and the operator as the owner', async () => {
  await insertTestTranscript(pool, {
    id: 't1',
    size_bytes: 5,
    uploader_key_id: 'ada',
    ingested_at: null,
    superseded_by: 't2',
  });
  await insertTestTranscript(pool, { id: 't2', size_bytes: 10, uploader_key_id: 'bob' });
  await refresh();
  expect(await readSession()).toMatchObject({
    ...{ primary_transcript_id: 't2', uploader_key_id: 'ada', other_uploader_count: 1 },
  });
  await insertTestTranscript(pool, { id: 't3', size_bytes: 7, uploader_key_id: null });
  await refresh();
  expect(await readSession()).toMatchObject({ primary_transcript_id: 't3', other_uploader_count: 1 });
  await insertTestTranscript(pool, { id: 't4', size_bytes: 8, uploader_key_id: OPERATOR });
  await refresh();
  expect(await readSession()).toMatchObject({
    primary_transcript_id: 't4',
    uploader_key_id: 'ada',
    other_uploader_count: 1,
  });
});

it('protects sessions of unknown owners from known keys', async () => {
  await insertTestTranscript(pool, { id: 't1', size_bytes: 5 });
  await insertTestTranscript(pool, { id: 't2', size_bytes: 10, uploader_key_id: 'bob' });
  await refresh();
  expect(await readSession()).toMatchObject({ primary_transcript_id: 't1', other_uploader_count: 1 });
});

it('does not call a key another’s that continues what an unknown uploader began', async () => {
  await insertTestTranscript(pool, { id: 't1', size_bytes: 5, ingested_at: null, superseded_by: 't2' });
  await insertTestTranscript(pool, { id: 't2', size_bytes: 10, uploader_key_id: 'bob' });
  await refresh();
  expect(await readSession()).toMatchObject({ primary_transcript_id: 't2', other_uploader_count: 0 });
});

it('takes back such a count when an older database is upgraded, and no other', async () => {
  const earlier = { size_bytes: 5, ingested_at: null, superseded_by: 'later' };
  const later = { size_bytes: 10, uploader_key_id: 'bob' };
  const owners = { unknown: null, ada: 'ada', operator: OPERATOR };
  for (const [session_id, uploader_key_id] of Object.entries(owners)) {
    await insertTestTranscript(pool, { ...earlier, id: `t1-${session_id}`, session_id, uploader_key_id });
    await insertTestTranscript(pool, { ...later, id: `t2-${session_id}`, session_id });
  }
  await refreshSessions(pool.database, TEST_WORKSPACE, Object.keys(owners));
  await pool.pool.query('UPDATE recount.sessions SET other_uploader_count = 1');
  const migration = new URL('../../../../drizzle/0061_unknown_owners.sql', import.meta.url);
  await pool.pool.query(await readFile(migration, 'utf8'));
  const { rows } = await pool.pool.query('SELECT session_id, other_uploader_count AS count FROM recount.sessions');
  expect(new Map(rows.map(({ session_id, count }) => [session_id, count]))).toEqual(
    new Map(Object.keys(owners).map((id) => [id, id === 'unknown' ? 0 : 1])),
  );
});

it('makes another transcript primary when the primary one is gone', async () => {
  await insertTestTranscript(pool, { id: 't1', size_bytes: 10, title: 'short' });
  await insertTestTranscript(pool, { id: 't2', size_bytes: 20, title: 'long' });
  await refresh();
  await supersedeTranscripts(pool.database, TEST_WORKSPACE, [{ id: 't2', row_set_id: 't2' }], 'elsewhere');
  await refresh();
  expect(await readSession()).toMatchObject({ primary_transcript_id: 't1', transcript_count: 1, title: 'short' });
  expect(await listDiverged()).toEqual([]);
});

it('keeps a transcript that waits for another parse, because its rows are still there', async () => {
  await insertTestTranscript(pool, { id: 't1', size_bytes: 10 });
  await insertTestTranscript(pool, { id: 't2', size_bytes: 20 });
  await setTranscriptStatus(pool.database, TEST_WORKSPACE, ['t2'], { status: 'queued' });
  await refresh();
  expect(await readSession()).toMatchObject({ primary_transcript_id: 't2', transcript_count: 2 });
  expect(await listDiverged()).toEqual(['t1']);
});

it('removes the session with its last transcript', async () => {
  await insertTestTranscript(pool, { id: 't1' });
  await refresh();
  expect(await readSession()).toBeDefined();
  await supersedeTranscripts(pool.database, TEST_WORKSPACE, [{ id: 't1', row_set_id: 't1' }], 'elsewhere');
  await refresh();
  expect(await readSession()).toBeUndefined();
});

it('updates the rows of several sessions, each from its own transcripts', async () => {
  await insertTestTranscript(pool, { id: 't1', session_id: 'gone' });
  await insertTestTranscript(pool, { id: 't2', session_id: 'grown' });
  await refreshSessions(pool.database, TEST_WORKSPACE, ['gone', 'grown']);
  await supersedeTranscripts(pool.database, TEST_WORKSPACE, [{ id: 't1', row_set_id: 't1' }], 'elsewhere');
  await insertTestTranscript(pool, { id: 't3', session_id: 'grown', size_bytes: 2000 });
  await insertTestTranscript(pool, { id: 't4', session_id: 'new' });
  await insertTestTranscript(pool, { id: 't5', session_id: 'not asked for' });
  await refreshSessions(pool.database, TEST_WORKSPACE, ['new', 'gone', 'grown', 'unknown']);
  const { rows } = await pool.pool.query(
    'SELECT session_id, primary_transcript_id, transcript_count FROM recount.sessions ORDER BY session_id',
  );
  expect(rows).toEqual([
    { session_id: 'grown', primary_transcript_id: 't3', transcript_count: 2 },
    { session_id: 'new', primary_transcript_id: 't4', transcript_count: 1 },
  ]);
});

describe('a session belongs to', () => {
  const insert = async (id: string, uploader: string | null, person: string | null, machine: string | null = null) =>
    insertTestTranscript(pool, { id, uploader_key_id: uploader, person, machine, size_bytes: Number(id.slice(1)) });
  const supersede = async (id: string, by: string) => {
    await supersedeTranscripts(pool.database, TEST_WORKSPACE, [{ id, row_set_id: null }], by);
  };

  it('is the first uploader, even if others append to it', async () => {
    await insert('t1', 'ada', 'Ada', 'heron');
    await insert('t2', 'bob', 'Bob', 'otter');
    await insert('t3', 'carol', 'Carol', 'stork');
    await supersede('t1', 't2');
    await supersede('t2', 't3');
    await refresh();
    expect(await readSession()).toMatchObject({
      ...{ primary_transcript_id: 't3', uploader_key_id: 'ada', person: 'Ada', machine: 'heron' },
      other_uploader_count: 1,
    });
  });

  it('its person still when another key of the same person appends, which is no caveat', async () => {
    await insert('t1', 'laptop', 'Ada', 'heron');
    await insert('t2', 'desktop', 'Ada', 'otter');
    await supersede('t1', 't2');
    await refresh();
    expect(await readSession()).toMatchObject({ person: 'Ada', machine: 'heron', other_uploader_count: 0 });
  });

  it.each([
    ['an unknown uploader', null],
    ['the operator', OPERATOR],
    ['a key without a person', 'shared'],
  ])('is the first named person, if %s was first', async (_name, uploader) => {
    await insert('t1', uploader, null);
    await insert('t2', 'ada', 'Ada', 'heron');
    await insert('t3', 'bob', 'Bob', 'otter');
    await supersede('t1', 't2');
    await supersede('t2', 't3');
    await refresh();
    expect(await readSession()).toMatchObject({ uploader_key_id: 'ada', person: 'Ada', machine: 'heron' });
  });

  it('no one who uploaded a version that went another way', async () => {
    await insert('t1', 'shared', null);
    await insert('t2', 'bob', 'Bob');
    await insert('t3', 'bob', 'Bob');
    await supersede('t2', 't3');
    await refresh();
    expect(await readSession()).toMatchObject({ primary_transcript_id: 't1', person: null, other_uploader_count: 1 });
  });
});
