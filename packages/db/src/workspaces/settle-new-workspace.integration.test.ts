import { isOnCitus } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { settleSessions } from '../sessions/settle-sessions.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestTranscript } from '../testing/insert-test-transcript.ts';
import { listTranscriptsByContent } from '../transcripts/list-transcripts-by-content.ts';
import { findTranscript } from '../transcripts/read-transcripts.ts';
import { toNewRowSet } from '../transcripts/transcript-rows.ts';
import { claimTranscript } from '../transcripts/transcript-status.ts';
import { ensureWorkspace } from './workspaces.ts';

const RESPONSES = 2000;
const TRANSCRIPTS = 1000;
const NEW_WORKSPACE = '01J000000000000000000000NE';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  // The statistics of these workspaces must not change during the test.
  for (const table of ['usage_entries', 'usage_ledger', 'transcripts', 'sessions', 'tool_calls']) {
    await pool.pool.query(`ALTER TABLE recount.${table} SET (autovacuum_enabled = false)`);
  }
});
afterAll(() => pool.close());

/** Entries of one transcript, and their ledger rows, as ingestion would leave them. */
async function insertUsage(workspaceId: string): Promise<void> {
  await insertTestTranscript(pool, { id: 'first', row_set_id: 'first', workspace_id: workspaceId });
  await pool.pool.query(
    `INSERT INTO recount.usage_entries (workspace_id, session_id, row_set_id, source, is_subagent, entry_number, agent,
       response_key, is_marked_copy, line_number, price_basis, price_version)
     SELECT $1, 'session', 'first', 'message', false, n, 'claude-code', 'response ' || n, false, n, 'exact', ''
     FROM generate_series(1, $2::int) AS n`,
    [workspaceId, RESPONSES],
  );
  await pool.pool.query(
    `INSERT INTO recount.usage_ledger (workspace_id, session_id, row_set_id, source, is_subagent, agent, response_key,
       copy_count, price_basis, price_version)
     SELECT workspace_id, session_id, row_set_id, source, is_subagent, agent, response_key, 1, price_basis, price_version
     FROM recount.usage_entries WHERE workspace_id = $1`,
    [workspaceId],
  );
}

/** Transcripts, each in its own session, as uploads would leave them. */
async function insertTranscriptsOf(workspaceId: string): Promise<void> {
  await pool.pool.query(
    `INSERT INTO recount.transcripts (workspace_id, id, row_set_id, session_id, agent, format, is_stream, sha256,
       size_bytes, object_key, status, ingested_at)
     SELECT $1, 'id ' || n, 'id ' || n, 'session ' || n, 'claude-code', 'claude-code', false, 'sha ' || n, 1, $1 || n, 'ingested', now()
     FROM generate_series(1, $2::int) AS n`,
    [workspaceId, TRANSCRIPTS],
  );
  await pool.pool.query(
    `INSERT INTO recount.sessions (workspace_id, session_id, agent, primary_transcript_id)
     SELECT workspace_id, session_id, agent, id FROM recount.transcripts WHERE workspace_id = $1 AND sha256 LIKE 'sha %'
       AND id LIKE 'id %'`,
    [workspaceId],
  );
}

it.skipIf(isOnCitus())('finds transcripts by index in a workspace without statistics', async () => {
  await insertTranscriptsOf(TEST_WORKSPACE);
  await pool.pool.query('ANALYZE');
  const workspaceId = '01J000000000000000000000NT';
  await ensureWorkspace(pool.database, workspaceId, 'transcripts');
  await insertTranscriptsOf(workspaceId);
  const numbers = Array.from({ length: 20 }, (_, index) => index * 7 + 1);
  const rowsRead = await pool.withTransaction(async (transaction, client) => {
    for (const number of numbers) {
      expect(await findTranscript(transaction, workspaceId, `id ${number}`)).toBeDefined();
      expect(await claimTranscript(transaction, workspaceId, `id ${number}`)).toBeUndefined();
    }
    const contents = numbers.map((number) => ({ sessionId: `session ${number}`, sha256: `sha ${number}` }));
    expect(await listTranscriptsByContent(transaction, workspaceId, contents)).not.toContain(undefined);
    const { rows } = await client.query<{ count: number }>(
      `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS count FROM pg_stat_xact_user_tables
       WHERE schemaname = 'recount' AND relname IN ('transcripts', 'sessions')`,
    );
    return rows[0]?.count;
  });
  expect(rowsRead).toBeGreaterThan(numbers.length);
  // Reading the whole table once or twice may be cheaper; reading it for each key is not.
  expect(rowsRead).toBeLessThan((numbers.length / 2) * TRANSCRIPTS);
});

it.skipIf(isOnCitus())(
  'settles a copy in a workspace without statistics, and without reading the whole workspace',
  async () => {
    await insertUsage(TEST_WORKSPACE);
    await pool.pool.query('ANALYZE');
    await ensureWorkspace(pool.database, NEW_WORKSPACE, 'new');
    await insertUsage(NEW_WORKSPACE);
    const copy = { workspace_id: NEW_WORKSPACE, session_id: 'fork' };
    await insertTestTranscript(pool, { id: 'second', row_set_id: 'second', ...copy });
    const rowsRead = await pool.withTransaction(async (transaction, client) => {
      await client.query(
        `INSERT INTO recount.usage_entries (workspace_id, session_id, row_set_id, source, is_subagent, entry_number, agent,
         response_key, is_marked_copy, line_number, price_basis, price_version)
       VALUES ($1, 'fork', 'second', 'message', false, 0, 'claude-code', 'response 7', true, 1, 'exact', '')`,
        [NEW_WORKSPACE],
      );
      await settleSessions(transaction, {
        workspaceId: NEW_WORKSPACE,
        sessionIds: ['fork'],
        written: [toNewRowSet({ workspaceId: NEW_WORKSPACE, rowSetId: 'second' })],
        removedRowSetIds: [],
      });
      const { rows } = await client.query<{ count: number }>(
        `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS count FROM pg_stat_xact_user_tables
       WHERE schemaname = 'recount' AND relname IN ('usage_entries', 'usage_ledger')`,
      );
      return rows[0]?.count;
    });
    // Each statement may read the workspace once; a join that reads it for each of its rows reads millions.
    expect(rowsRead).toBeGreaterThan(0);
    expect(rowsRead).toBeLessThan(50 * RESPONSES);
  },
);
