import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestTranscript } from '../testing/insert-test-transcript.ts';
import { settleSessions } from './settle-sessions.ts';
import { ensureWorkspace } from './workspaces-and-keys.ts';

const RESPONSES = 2000;
const NEW_WORKSPACE = '01J000000000000000000000NE';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  // What ANALYZE has seen of the workspaces must not change meanwhile.
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

it('settles a copy in a workspace that statistics do not know without reading all of the workspace', async () => {
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
      written: [{ rowSetId: 'second', firstNumbers: { entry: 0, call: 0 } }],
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
});
