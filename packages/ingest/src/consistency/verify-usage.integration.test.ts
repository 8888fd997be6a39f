import { refreshTotals, sql, verifyUsage } from '@recount/db';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { handleJob } from '../process/handle-job.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toLine,
  toTranscript,
} from '../testing/test-installation.ts';
import { rebuildUsage } from './rebuild-usage.ts';

let installation: TestInstallation;
const toWrongTables = (checks: Awaited<ReturnType<typeof verifyUsage>>): string[] =>
  checks.filter(({ missing, surplus }) => missing + surplus > 0).map(({ table }) => table);
const verify = async () =>
  toWrongTables(await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE)));

beforeAll(async () => {
  installation = await createTestInstallation();
  const call = { type: 'tool_use', id: 'toolu_01AbCdEfGhIjKlMnOpQrStUv', name: 'Bash', input: { command: 'ls' } };
  const message = { id: 'msg_call', role: 'assistant', model: 'claude-sonnet-4-5', content: [call] };
  const usage = { input_tokens: 3, output_tokens: 20 };
  const line = toLine('one', 7, { type: 'assistant', message: { ...message, usage } });
  await installation.receive(toTranscript('one', 6) + line);
  await installation.receive(toTranscript('two', 6));
  // Another version, which does not continue the first one.
  await installation.receive(toTranscript('two', 4) + toLine('two', 9));
  await installation.work();
  await refreshTotals(installation.database, TEST_WORKSPACE);
});
afterAll(() => installation.close());

it('finds nothing if nothing is wrong', async () => {
  await refreshTotals(installation.database, TEST_WORKSPACE);
  const checks = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
  expect(checks.filter(({ rows }) => rows === 0).map(({ table }) => table)).toEqual(['file_day_rollup']);
  expect(await verify()).toEqual([]);
});

it('agrees with costs that a number cannot hold exactly, and with those without any price', async () => {
  const usage = { input_tokens: 1e8, output_tokens: 1e8, cache_read_input_tokens: 1, server_tool_use: {} };
  const toAnswer = (session: string, index: number, model: string): string =>
    toLine(session, index, { type: 'assistant', message: { id: `${session}${index}`, model, content: [], usage } });
  const count = 600;
  const toSession = (session: string, model: string) =>
    Array.from({ length: count }, (_, index) => toAnswer(session, index, model)).join('');
  await installation.receive(toSession('dear', 'claude-opus-4-1'));
  await installation.receive(toSession('unknown', 'nobody-knows'));
  await installation.work();
  expect(await verify()).toEqual([]);
  const { rows } = await installation.database.pool.query(
    `SELECT session_id, cost_estimate_usd, api_response_count, unpriced_count FROM analytics.sessions
     WHERE session_id IN ('dear', 'unknown') ORDER BY 1`,
  );
  // $15, 75 and 1.50 per million tokens.
  const unknown = { session_id: 'unknown', cost_estimate_usd: null, api_response_count: count, unpriced_count: count };
  const dear = { session_id: 'dear', cost_estimate_usd: '5400000.0009000000', api_response_count: count };
  expect(rows).toEqual([{ ...dear, unpriced_count: 0 }, unknown]);
});

it('counts the copies of all tool calls once, also if the workspace’s calls were never counted', async () => {
  const session = 'calls';
  const toCall = (index: number): string => {
    const id = String(index).padStart(24, '0');
    const content = [{ type: 'tool_use', id: `toolu_${id}`, name: 'Bash', input: { command: 'ls' } }];
    const usage = { input_tokens: 3, output_tokens: 20 };
    const message = { id: `msg_${id}`, role: 'assistant', model: 'claude-sonnet-4-5', content, usage };
    return toLine(session, index, { type: 'assistant', message });
  };
  await installation.receive(Array.from({ length: 300 }, (_, index) => toCall(index)).join(''));
  await installation.work();
  const count = await installation.database.withSnapshot(async (snapshot) => {
    const verified = await verifyUsage(snapshot, TEST_WORKSPACE);
    expect(verified.filter(({ missing, surplus }) => missing + surplus > 0)).toEqual([]);
    const { rows } = await snapshot.execute<{ count: string }>(`
      SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) AS count FROM pg_stat_xact_user_tables
      WHERE schemaname = 'recount'`);
    return Number(rows[0]?.count);
  });
  // At most a thousand for each call; counting the copies of all calls again for each would take hundreds of thousands.
  expect(count).toBeLessThan(1_000_000);
});

it('counts a response and its tool call once if its last line came after it was closed', async () => {
  const toAnswer = (index: number, content: object[]): string => {
    const id = `msg_closed${String(index).padStart(18, '0')}`;
    const usage = { input_tokens: 3, output_tokens: 20 };
    const message = { id, role: 'assistant', model: 'claude-sonnet-4-5', content, usage };
    return toLine('closed', index, { type: 'assistant', message });
  };
  const call = { type: 'tool_use', id: 'toolu_closed0123456789abcdef', name: 'Bash', input: { command: 'ls' } };
  const others = [1, 2, 3].map((index) => toAnswer(index, [])).join('');
  await installation.receive(toAnswer(0, [call]) + others + toAnswer(0, []));
  for (const job of await installation.listJobs()) {
    // As if there were 2,000 messages between two lines.
    const options = { maxLineBytes: 1024 * 1024, minCheckpointBytes: 0, maxOpenMessages: 2 };
    expect(await handleJob({ ...installation, onReport: () => undefined }, job, options)).toMatchObject({
      status: 'done',
    });
  }
  const { rows } = await installation.database.pool.query(
    `SELECT is_own FROM recount.tool_calls WHERE session_id = 'closed'`,
  );
  expect(rows).toEqual([{ is_own: true }]);
  expect(await verify()).toEqual([]);

  await installation.database.pool.query(`UPDATE recount.tool_calls SET is_own = false WHERE session_id = 'closed'`);
  for await (const _sessionId of rebuildUsage(installation, TEST_WORKSPACE));
  expect(await verify()).toEqual([]);
});

describe('finds', () => {
  it.each([
    ['transcripts', 'transcripts SET tokens_out = tokens_out + 1'],
    ['transcripts', 'transcripts SET cost_estimate_usd = cost_estimate_usd + 0.0000000001'],
    ['transcripts', 'transcripts SET total_messages = 0'],
    ['transcripts', 'transcripts SET content_block_count = content_block_count + 1'],
    ['transcripts', 'transcripts SET active_ms = 1'],
    ['transcripts', 'transcripts SET prompt_count = 0'],
    ['transcripts', 'transcripts SET is_diverged = NOT is_diverged'],
    ['sessions', 'sessions SET transcript_count = 7'],
    ['sessions', "sessions SET models = '{}'"],
    ['tool_calls', 'tool_calls SET is_own = false'],
    ['usage_ledger', 'usage_ledger SET copy_count = 2'],
    ['tool_day_rollup', 'tool_day_rollup SET calls = 2'],
    ['usage_hour_total', 'usage_hour_total SET tokens_out = tokens_out + 1'],
    ['message_hour_total', 'message_hour_total SET messages = 0'],
    ['tool_day_total', "tool_day_total SET durations = '\\x000000000001'"],
    ['usage_attribution_total', "usage_attribution_total SET project = 'another'"],
    ['message_attribution_total', "message_attribution_total SET machine = 'another'"],
    ['session_total', 'session_total SET sessions = sessions + 1'],
    ['findings', 'findings SET line_number = line_number + 1'],
  ])('%s: %s', async (table, change) => {
    await refreshTotals(installation.database, TEST_WORKSPACE);
    const rollback = new Error('rolled back');
    let tables: string[] = [];
    const changed = installation.database.withTransaction(async (transaction) => {
      await transaction.execute(sql`UPDATE recount.${sql.raw(change)} WHERE workspace_id = ${TEST_WORKSPACE}`);
      tables = toWrongTables(await verifyUsage(transaction, TEST_WORKSPACE));
      throw rollback;
    });
    await expect(changed).rejects.toBe(rollback);
    expect(tables).toContain(table);
    expect(await verify()).toEqual([]);
  });
});
