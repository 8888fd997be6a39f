import { isOnCitus } from '@recount/local-postgres/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { refreshSessions } from '../sessions/refresh-sessions.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { writeRollups } from '../usage/write-rollups.ts';
import { ensureWorkspace } from '../workspaces/workspaces.ts';
import { preferIndexes } from './planner.ts';
import { refreshStatistics } from './refresh-statistics.ts';

const TRANSCRIPTS = 2000;
const NEW_WORKSPACE = '01J000000000000000000000NS';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeEach(async () => {
  pool = await createTestPool();
  const { rows } = await pool.pool.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'recount'`,
  );
  for (const { name } of rows) await pool.pool.query(`ALTER TABLE recount.${name} SET (autovacuum_enabled = false)`);
  await insertTranscripts(TEST_WORKSPACE, 1, 3000);
  await pool.pool.query('ANALYZE');
  await ensureWorkspace(pool.database, NEW_WORKSPACE, 'new');
});
afterEach(() => pool.close());

/** Ingested transcripts, each in its own session. */
async function insertTranscripts(workspaceId: string, count: number, messagesEach: number): Promise<void> {
  await pool.pool.query(
    `INSERT INTO recount.transcripts
       (workspace_id, id, row_set_id, session_id, agent, format, is_stream, sha256, size_bytes, object_key, status, ingested_at)
     SELECT $1, 'id ' || n, 'id ' || n, 'session ' || n, 'claude-code', 'claude-code', false, 'sha ' || n, 1, $1 || n, 'ingested', now()
     FROM generate_series(1, $2::int) AS n`,
    [workspaceId, count],
  );
  await pool.pool.query(
    `INSERT INTO recount.sessions (workspace_id, session_id, agent, primary_transcript_id)
     SELECT workspace_id, session_id, agent, id FROM recount.transcripts WHERE workspace_id = $1`,
    [workspaceId],
  );
  await pool.pool.query(
    `INSERT INTO recount.transcript_messages (workspace_id, row_set_id, id, session_id, line_number, ordinal,
       message_type, has_text, has_thinking, has_tool_use, has_tool_result, metadata, is_sidechain, byte_offset, byte_length)
     SELECT workspace_id, row_set_id, 'message ' || n, session_id, n, n, 'user', true, false, false, false, '{}', false, 0, 1
     FROM recount.transcripts, generate_series(1, $2::int) AS n WHERE workspace_id = $1`,
    [workspaceId, messagesEach],
  );
}

/** Up to date with the statistics. */
async function fillNewWorkspace(): Promise<void> {
  await insertTranscripts(NEW_WORKSPACE, TRANSCRIPTS, 2);
  await refreshStatistics(pool.database, NEW_WORKSPACE);
}

/** Rows read to settle some sessions of the new workspace. */
async function countRowsRead(): Promise<number> {
  return await pool.withTransaction(async (transaction, client) => {
    await preferIndexes(transaction);
    const sessionIds = Array.from({ length: 100 }, (_, index) => `session ${index * 7 + 1}`);
    await refreshSessions(transaction, NEW_WORKSPACE, sessionIds);
    await writeRollups(transaction, { workspaceId: NEW_WORKSPACE, sessionIds }, sessionIds);
    const { rows } = await client.query<{ count: string }>(
      `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) AS count FROM pg_stat_xact_user_tables
       WHERE schemaname = 'recount'`,
    );
    return Number(rows[0]?.count);
  });
}

const readKnownSessions = async (): Promise<number | undefined> => {
  const { rows } = await pool.pool.query<{ count: number }>(
    `SELECT reltuples::int AS count FROM pg_class WHERE oid = 'recount.sessions'::regclass`,
  );
  return rows[0]?.count;
};

it.skipIf(isOnCitus())(
  'lets sessions be settled by index in a workspace that was filled since the last statistics',
  async () => {
    await insertTranscripts(NEW_WORKSPACE, TRANSCRIPTS, 2);
    const withOldStatistics = await countRowsRead();
    await refreshStatistics(pool.database, NEW_WORKSPACE);
    const withNewOnes = await countRowsRead();
    // About ten rows of tables and indexes for each of a hundred sessions; by the workspace alone it is thousands for
    // each.
    expect(withOldStatistics).toBeGreaterThan(20_000);
    expect(withNewOnes).toBeLessThan(5000);
  },
);

it.skipIf(isOnCitus())('does nothing until tables have grown several times over', async () => {
  await fillNewWorkspace();
  const before = await readKnownSessions();
  expect(before).toBe(TRANSCRIPTS + 1);
  await pool.pool.query(
    `INSERT INTO recount.sessions (workspace_id, session_id, agent, primary_transcript_id)
     SELECT $1, 'more ' || n, 'claude-code', 'none' FROM generate_series(1, $2::int) AS n`,
    [TEST_WORKSPACE, TRANSCRIPTS],
  );
  await refreshStatistics(pool.database, NEW_WORKSPACE);
  expect(await readKnownSessions()).toBe(before);
});

it.skipIf(isOnCitus())('does not wait for other processes', async () => {
  await fillNewWorkspace();
  await pool.pool.query(
    `INSERT INTO recount.sessions (workspace_id, session_id, agent, primary_transcript_id)
     SELECT $1, 'even more ' || n, 'claude-code', 'none' FROM generate_series(1, $2::int) AS n`,
    [TEST_WORKSPACE, 8 * TRANSCRIPTS],
  );
  await pool.withTransaction(async (_transaction, client) => {
    await client.query('LOCK TABLE recount.sessions IN SHARE UPDATE EXCLUSIVE MODE');
    await refreshStatistics(pool.database, NEW_WORKSPACE);
  });
  expect(await readKnownSessions()).toBe(TRANSCRIPTS + 1);
  await refreshStatistics(pool.database, NEW_WORKSPACE);
  expect(await readKnownSessions()).toBe(9 * TRANSCRIPTS + 1);
});

it.runIf(isOnCitus())('analyzes the shards of a workspace on their node, once they have grown', async () => {
  const countAnalyses = async (table: string): Promise<number> => {
    const { rows } = await pool.pool.query<{ count: number }>(
      `SELECT pg_stat_get_analyze_count(tableoid)::int AS count FROM recount.${table} WHERE workspace_id = $1 LIMIT 1`,
      [NEW_WORKSPACE],
    );
    return rows[0]?.count ?? 0;
  };
  await insertTranscripts(NEW_WORKSPACE, TRANSCRIPTS, 2);
  const before = await countAnalyses('sessions');
  // A server publishes its counts of written rows up to a second later.
  await vi.waitFor(
    async () => {
      await refreshStatistics(pool.database, NEW_WORKSPACE);
      expect(await countAnalyses('sessions')).toBe(before + 1);
    },
    { interval: 100 },
  );
  const messagesBefore = await countAnalyses('transcript_messages');
  expect(messagesBefore).toBeGreaterThan(0);
  await refreshStatistics(pool.database, NEW_WORKSPACE);
  expect(await countAnalyses('sessions')).toBe(before + 1);
});
