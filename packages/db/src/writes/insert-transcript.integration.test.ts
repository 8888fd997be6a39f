import { afterAll, beforeAll, expect, it } from 'vitest';
import { listTranscripts } from '../queries/list-transcripts.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { claimTranscript } from './claim-transcript.ts';
import { insertTranscript, type NewTranscript } from './insert-transcript.ts';
import { recordAttemptFailure } from './record-attempt-failure.ts';
import { setTranscriptStatus } from './set-transcript-status.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

const toTranscript = (id: string, fields: Partial<NewTranscript> = {}): NewTranscript => ({
  workspace_id: TEST_WORKSPACE,
  id,
  session_id: 'session',
  agent: 'claude-code',
  path: null,
  sha256: 'same',
  size_bytes: 3_000_000_000,
  object_key: `key-${id}`,
  ...fields,
});

it('keeps one row of the same bytes, however many upload them at once', async () => {
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      pool.withTransaction((transaction) => insertTranscript(transaction, toTranscript(`race-${index}`))),
    ),
  );
  const [winner, ...others] = results.filter(({ isDuplicate }) => !isDuplicate);
  expect(others).toEqual([]);
  for (const { row } of results) expect(row).toEqual(winner?.row);
  expect(winner?.row).toMatchObject({ status: 'queued', attempt_count: 0, size_bytes: 3_000_000_000, models: [] });
  expect(await listTranscripts(pool.database, TEST_WORKSPACE, {}, { limit: 10 })).toHaveLength(1);
});

it('keeps the same bytes of another session or workspace', async () => {
  for (const fields of [{ session_id: 'another' }, { workspace_id: OTHER_WORKSPACE }, { sha256: 'other' }]) {
    const id = JSON.stringify(fields);
    const { row, isDuplicate } = await insertTranscript(pool.database, toTranscript(id, fields));
    expect(row).toMatchObject({ id, ...fields });
    expect(isDuplicate).toBe(false);
  }
});

it('inserts again what the transaction of the first upload rolled back', async () => {
  const transcript = toTranscript('rolled-back', { sha256: 'rolled-back' });
  const failing = pool.withTransaction(async (transaction) => {
    await insertTranscript(transaction, transcript);
    throw new Error('no queue');
  });
  await expect(failing).rejects.toThrow('no queue');
  expect((await insertTranscript(pool.database, transcript)).isDuplicate).toBe(false);
});

it('goes from queued over processing to its end, and no other way', async () => {
  const { database } = pool;
  await insertTranscript(database, toTranscript('life', { session_id: 'life' }));
  const claim = () => claimTranscript(database, TEST_WORKSPACE, 'life');
  expect(await claim()).toMatchObject({ status: 'processing', attempt_count: 1 });
  // A worker that died left it so: another one may take it.
  expect(await claim()).toMatchObject({ status: 'processing', attempt_count: 2 });
  await recordAttemptFailure(database, TEST_WORKSPACE, 'life', 'disk full');
  expect(await claim()).toMatchObject({ failure_reason: 'disk full', attempt_count: 3 });
  const change = { status: 'failed' } as const;
  expect(await setTranscriptStatus(database, TEST_WORKSPACE, ['life'], change, ['queued'])).toBe(0);
  expect(await setTranscriptStatus(database, TEST_WORKSPACE, ['life'], change, ['processing'])).toBe(1);
  expect(await claim()).toBeUndefined();
  await recordAttemptFailure(database, TEST_WORKSPACE, 'life', 'too late');
  const [row] = await listTranscripts(database, TEST_WORKSPACE, { ids: ['life'] }, { limit: 1 });
  expect(row).toMatchObject({ status: 'failed', failure_reason: 'disk full' });
});
