import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toExportQuery } from '../export/export-queries.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestTranscript } from '../testing/insert-test-transcript.ts';
import { writeRollups } from '../usage/write-rollups.ts';
import {
  listExpensiveSessions,
  type ReportFilter,
  readBlocksReport,
  readModelsReport,
  readReconciliationReport,
  readSessionsReport,
  readToolsReport,
  readUsageReport,
} from './index.ts';

const FILTER: ReportFilter = {
  workspaceId: TEST_WORKSPACE,
  from: null,
  to: null,
  timeZone: 'UTC',
  subagents: 'include',
};
const PAGE = { limit: 10, idleThresholdMs: 300_000 };
const RESPONSES = 100_000;
/** The upper bounds of packages/core for one response and one call. */
const TOKENS = 1e8;
const SEARCHES = 2 ** 31 - 1;
const DURATION_MS = 30 * 86_400_000;
/** The highest cost that rates allow (the largest override, in all classes and in fast mode). */
const COST_USD = 26_400_000;

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestTranscript(pool, { id: 't', row_set_id: 't', session_id: 's' });
  await pool.pool.query(
    `INSERT INTO recount.sessions (workspace_id, session_id, agent, primary_transcript_id, first_timestamp,
       api_response_count, cost_estimate_usd, reported_cost_usd, tokens_in, tokens_out, duration_ms)
     VALUES ($1, 's', 'claude-code', 't', '2026-05-04T10:00Z', 100000, 9999999999.9999999999, 9999999999.9999999999,
       9e15, 9e15, 253402300799999)`,
    [TEST_WORKSPACE],
  );
  // All within one 15-minute bucket.
  await pool.pool.query(
    `INSERT INTO recount.usage_ledger (workspace_id, agent, response_key, session_id, row_set_id, source, "timestamp",
       is_subagent, copy_count, model, tokens_in, tokens_out, cache_read, cache_write, cache_write_1h, thinking_tokens,
       web_search_requests, cost_usd, cost_input_usd, cost_output_usd, cost_cache_read_usd, cost_cache_write_usd,
       cost_web_search_usd, price_basis, price_version)
     SELECT $1, 'claude-code', n::text, 's', 't', 'message', '2026-05-04T10:00Z', false, 1, 'm', $2::bigint, $2, $2, $2, $2, $2,
       $3::int, $4::numeric + 0.0000000001, $4, $4, $4, $4, $4, 'override', 'test' FROM generate_series(1, $5::int) AS n`,
    [TEST_WORKSPACE, TOKENS, SEARCHES, COST_USD, RESPONSES],
  );
  await pool.pool.query(
    `INSERT INTO recount.tool_calls (workspace_id, row_set_id, call_number, session_id, call_key, message_id, tool_name, tool_kind,
       "timestamp", is_subagent, duration_ms, is_denied, input_bytes, output_bytes, line_number)
     SELECT $1, 't', n, 's', n::text, 'm', 'Bash', 'shell', '2026-05-04T10:00Z', false, $2::bigint, false, 201326592, 201326592, 1
     FROM generate_series(1, $3::int) AS n`,
    [TEST_WORKSPACE, DURATION_MS, RESPONSES],
  );
  await pool.withTransaction((transaction) =>
    writeRollups(transaction, { workspaceId: TEST_WORKSPACE, sessionIds: [] }, ['s']),
  );
});
afterAll(() => pool.close());

describe('a 15-minute bucket of the largest figures', () => {
  it('is summed exactly', async () => {
    const { rows } = await pool.pool.query(`
      SELECT cost_units::text, tokens_in::text, web_search_requests::text FROM recount.usage_rollup
      UNION ALL SELECT cost_units::text, tokens_in::text, web_search_requests::text FROM recount.usage_day_rollup`);
    const expected = {
      cost_units: String((BigInt(COST_USD) * 10n ** 10n + 1n) * BigInt(RESPONSES)),
      tokens_in: String(TOKENS * RESPONSES),
      web_search_requests: String(SEARCHES * RESPONSES),
    };
    expect(rows).toEqual([expected, expected]);
  });

  it('is read by every report', async () => {
    const cost = COST_USD * RESPONSES;
    const { totals } = await readUsageReport(pool.database, FILTER, { groupBy: ['hour'], limit: 10 });
    expect(totals.own.cost_usd).toBeCloseTo(cost, -1);
    expect((await readUsageReport(pool.database, FILTER, { groupBy: ['session'], limit: 10 })).rows).toHaveLength(1);
    expect((await readModelsReport(pool.database, FILTER, PAGE)).totals.web_search_requests).toBe(SEARCHES * RESPONSES);
    expect((await readBlocksReport(pool.database, FILTER, PAGE)).totals.cost_usd).toBeCloseTo(cost, -1);
    expect((await readSessionsReport(pool.database, FILTER, PAGE)).totals.own_cost_usd).toBeCloseTo(cost, -1);
    expect((await listExpensiveSessions(pool.database, FILTER, { ...PAGE, top: 1 }))[0]?.cost_usd).toBeCloseTo(1e10, 0);
    expect((await readReconciliationReport(pool.database, FILTER, PAGE)).totals.difference_usd).toBe(0);
    const tools = await readToolsReport(pool.database, FILTER, { groupBy: ['tool'], limit: 10, percentiles: true });
    expect(tools.rows).toMatchObject([{ calls: RESPONSES, duration_p95_ms: DURATION_MS }]);
  });

  it('is read by exports and views', async () => {
    const { rows } = await pool.database.execute<{ own_cost_usd: string }>(toExportQuery('sessions', FILTER));
    expect(rows[0]?.own_cost_usd).toBe('2640000000000.0000100000');
    for (const view of ['daily_usage', 'session_usage', 'tool_usage']) {
      expect((await pool.pool.query(`SELECT * FROM analytics.${view}`)).rowCount).toBe(1);
    }
  });
});

it('leaves room in a bigint for everything that 32 bits can count', () => {
  const rows = 2n ** 31n - 1n;
  const largest = 2n ** 63n - 1n;
  expect(4n * BigInt(TOKENS) * rows).toBeLessThan(largest);
  expect(BigInt(DURATION_MS) * rows).toBeLessThan(largest);
  // A line of 64 MiB where each byte is replaced by three.
  expect(3n * 64n * 1024n * 1024n * rows).toBeLessThan(largest);
});
