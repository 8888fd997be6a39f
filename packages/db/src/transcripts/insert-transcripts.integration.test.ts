import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Database } from '../database/database.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { type InsertedTranscript, insertTranscripts, type NewTranscript } from './insert-transcripts.ts';
import { listTranscripts } from './read-transcripts.ts';
import { claimTranscript, recordAttemptFailure, setTranscriptStatus } from './transcript-status.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeEach(async () => {
  pool = await createTestPool();
});
afterEach(() => pool.close());

const toTranscript = (id: string, fields: Partial<NewTranscript> = {}): NewTranscript => ({
  id,
  session_id: 'session',
  agent: 'claude-code',
  format: 'claude-code',
  path: null,
  is_subagent: false,
  parent_session_id: null,
  agent_id: null,
  sha256: 'same',
  size_bytes: 3_000_000_000,
  object_key: `key-${id}`,
  ...fields,
});

async function insert(
  database: Database,
  transcript: NewTranscript,
  workspaceId = TEST_WORKSPACE,
): Promise<InsertedTranscript> {
  const [inserted] = await insertTranscripts(database, workspaceId, [transcript]);
  if (inserted === undefined) throw new Error('Not inserted');
  return inserted;
}

it('keeps one row for the same bytes, however many requests upload them concurrently', async () => {
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      pool.withTransaction((transaction) => insert(transaction, toTranscript(`race-${index}`))),
    ),
  );
  const [winner, ...others] = results.filter(({ isDuplicate }) => !isDuplicate);
  expect(others).toEqual([]);
  for (const { row } of results) expect(row).toEqual(winner?.row);
  expect(winner?.row).toMatchObject({ status: 'queued', attempt_count: 0, size_bytes: 3_000_000_000, models: [] });
  expect(await listTranscripts(pool.database, TEST_WORKSPACE, {}, { limit: 10 })).toHaveLength(1);
});

it('keeps the same bytes of another session or workspace', async () => {
  await insert(pool.database, toTranscript('first'));
  for (const [workspaceId, fields] of [
    [TEST_WORKSPACE, { session_id: 'another' }],
    [OTHER_WORKSPACE, {}],
    [TEST_WORKSPACE, { sha256: 'other' }],
  ] as const) {
    const id = `${workspaceId} ${JSON.stringify(fields)}`;
    const { row, isDuplicate } = await insert(pool.database, toTranscript(id, fields), workspaceId);
    expect(row).toMatchObject({ workspace_id: workspaceId, id, ...fields });
    expect(isDuplicate).toBe(false);
  }
});

it('inserts many together, duplicates once, also while another transaction inserts them in another order', async () => {
  const contents = Array.from({ length: 20 }, (_, index) => `many-${index}`);
  const insertAll = (by: string, hashes: readonly string[]) =>
    pool.withTransaction((transaction) =>
      insertTranscripts(
        transaction,
        TEST_WORKSPACE,
        hashes.map((sha256, index) => toTranscript(`${by}-${index}`, { sha256, session_id: `of ${sha256}\ud800` })),
      ),
    );
  const twice = [...contents, ...contents];
  const results = await Promise.all([
    insertAll('a', twice),
    insertAll('b', contents.toReversed()),
    insertAll('c', contents),
  ]);
  const inserted = results.flat().filter(({ isDuplicate }) => !isDuplicate);
  expect(inserted.map(({ row }) => row.sha256).sort()).toEqual(contents.toSorted());
  const ids = new Map(inserted.map(({ row }) => [row.sha256, row.id]));
  expect(results[0]?.map(({ row }) => row.sha256)).toEqual(twice);
  for (const { row } of results.flat()) expect(row.id).toBe(ids.get(row.sha256));
});

it('inserts again what the first upload’s transaction rolled back', async () => {
  const transcript = toTranscript('rolled-back', { sha256: 'rolled-back' });
  const failing = pool.withTransaction(async (transaction) => {
    await insert(transaction, transcript);
    throw new Error('no queue');
  });
  await expect(failing).rejects.toThrow('no queue');
  expect((await insert(pool.database, transcript)).isDuplicate).toBe(false);
});

it('changes from queued over processing to a final status, and no other way', async () => {
  const { database } = pool;
  await insert(database, toTranscript('life', { session_id: 'life' }));
  const claim = () => claimTranscript(database, TEST_WORKSPACE, 'life');
  expect(await claim()).toMatchObject({ status: 'processing', attempt_count: 1 });
  // A dead worker left it in this state, so another one may take it.
  expect(await claim()).toMatchObject({ status: 'processing', attempt_count: 2 });
  await recordAttemptFailure(database, TEST_WORKSPACE, 'life', { reason: 'disk full', isCounted: true });
  expect(await claim()).toMatchObject({ failure_reason: 'disk full', attempt_count: 3 });
  const change = { status: 'failed' } as const;
  expect(await setTranscriptStatus(database, TEST_WORKSPACE, ['life'], change, ['queued'])).toBe(0);
  expect(await setTranscriptStatus(database, TEST_WORKSPACE, ['life'], change, ['processing'])).toBe(1);
  expect(await claim()).toBeUndefined();
  await recordAttemptFailure(database, TEST_WORKSPACE, 'life', { reason: 'too late', isCounted: true });
  const [row] = await listTranscripts(database, TEST_WORKSPACE, { ids: ['life'] }, { limit: 1 });
  expect(row).toMatchObject({ status: 'failed', failure_reason: 'disk full' });
});
