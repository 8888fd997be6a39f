import { isOnCitus } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { getTableName } from '../drizzle.cjs';
import { ROLLUPS } from '../schema/rollup-tables.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestTranscript } from '../testing/insert-test-transcript.ts';
import { writeRollups } from './write-rollups.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

it.skipIf(isOnCitus())('writes one row per program, tool and file of a session, if there are many', async () => {
  const calls = 3000;
  await insertTestTranscript(pool, { id: 't', row_set_id: 't', session_id: 's' });
  await pool.pool.query(
    `INSERT INTO recount.tool_calls (workspace_id, row_set_id, call_number, session_id, call_key, message_id, tool_name,
       tool_kind, program, file_path, "timestamp", is_subagent, is_denied, input_bytes, duration_ms, line_number)
     SELECT $1, 't', n, 's', n::text, 'm', CASE n % 3 WHEN 0 THEN 'Bash' WHEN 1 THEN 'Read' ELSE 'tool-' || n END,
       CASE n % 3 WHEN 0 THEN 'shell' WHEN 1 THEN 'read' ELSE 'other' END, CASE n % 3 WHEN 0 THEN 'program-' || n END, CASE n % 3 WHEN 1 THEN '/file-' || n END,
       '2026-01-01T00:00:00Z'::timestamptz + n * interval '10 s', false, false, 1, n, n
     FROM generate_series(1, $2::int) AS n`,
    [TEST_WORKSPACE, calls],
  );
  const written: Record<string, number> = {};
  await pool.withTransaction(async (transaction, client) => {
    await writeRollups(transaction, { workspaceId: TEST_WORKSPACE, sessionIds: ['s'] }, ['s']);
    const { rows } = await client.query('SELECT relname, n_tup_ins::int FROM pg_stat_xact_user_tables');
    for (const { relname, n_tup_ins } of rows) written[relname] = n_tup_ins;
  });
  const tables = Object.values(ROLLUPS).flatMap(({ buckets, days }) => (buckets ? [buckets, days] : [days]));
  const total = tables.reduce((sum, table) => sum + (written[getTableName(table)] ?? 0), 0);
  expect(written).toMatchObject({ file_day_rollup: calls / 3 });
  // The calls of Read are one row for each day.
  expect(written.tool_day_rollup).toBe((2 * calls) / 3 + 1);
  expect(total).toBe(calls + 1);
});
