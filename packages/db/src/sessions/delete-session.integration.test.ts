import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { lockSession } from '../database/lock-sessions.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { ingestTranscript } from '../testing/ingest-transcript.ts';
import { insertTestTranscript } from '../testing/insert-test-transcript.ts';
import { deleteSession } from './delete-session.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

const LINES = `{"type":"user","message":{"role":"user","content":"hello"}}\nnot json\n`;
const ingest = (workspaceId: string, transcriptId: string, session: string, text = LINES) =>
  ingestTranscript(pool, { workspaceId, transcriptId }, { path: `${session}.jsonl`, bytes: Buffer.from(text) });

/** Number of rows in every table, by transcript. */
async function countRows(): Promise<Record<string, number>> {
  const { rows } = await pool.pool.query(
    `SELECT workspace_id || '/' || transcript_id AS key, count(*)::int AS count FROM (
       SELECT workspace_id, row_set_id AS transcript_id FROM recount.transcript_messages
       UNION ALL SELECT workspace_id, row_set_id FROM recount.content_blocks
       UNION ALL SELECT workspace_id, row_set_id FROM recount.ingest_issues
       UNION ALL SELECT workspace_id, id FROM recount.transcripts
       UNION ALL SELECT workspace_id, primary_transcript_id FROM recount.sessions
     ) AS every GROUP BY 1 ORDER BY 1`,
  );
  return Object.fromEntries(rows.map(({ key, count }) => [key, count]));
}

it('deletes a session with its transcripts and their rows, and nothing else', async () => {
  await ingest(TEST_WORKSPACE, 't1', 'session');
  await ingest(TEST_WORKSPACE, 't2', 'session', `${LINES}${LINES}`);
  await insertTestTranscript(pool, { id: 't3', status: 'failed', ingested_at: null });
  await ingest(TEST_WORKSPACE, 't4', 'another');
  await ingest(OTHER_WORKSPACE, 't1', 'session');
  const kept = { [`${TEST_WORKSPACE}/t4`]: 5, [`${OTHER_WORKSPACE}/t1`]: 5 };
  expect(await countRows()).toEqual({
    [`${TEST_WORKSPACE}/t1`]: 4,
    [`${TEST_WORKSPACE}/t2`]: 8,
    [`${TEST_WORKSPACE}/t3`]: 1,
    ...kept,
  });

  const deleteIt = () => pool.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, 'session'));
  expect((await deleteIt()).sort()).toEqual([`${TEST_WORKSPACE}/t1`, `${TEST_WORKSPACE}/t2`, 'key-t3']);
  expect(await countRows()).toEqual(kept);
  expect(await deleteIt()).toEqual([]);
  expect(await countRows()).toEqual(kept);
});

it('waits for writers of rows of the session, and for no others', async () => {
  await ingest(TEST_WORKSPACE, 't5', 'busy');
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
  const { promise: isLocked, resolve: tellLocked } = Promise.withResolvers<void>();
  const order: string[] = [];
  const writing = pool.withTransaction(async (transaction) => {
    await lockSession(transaction, TEST_WORKSPACE, 'busy');
    tellLocked();
    await mayCommit;
    order.push('written');
  });
  await isLocked;
  const remove = (session: string) =>
    pool.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, session));
  const deleting = remove('busy').then((keys) => order.push(...keys));
  await vi.waitFor(async () => {
    const { rowCount } = await pool.pool.query(
      `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    expect(rowCount).toBe(1);
  });
  expect(await remove('free')).toEqual([]);
  commit();
  await Promise.all([writing, deleting]);
  expect(order).toEqual(['written', `${TEST_WORKSPACE}/t5`]);
});
