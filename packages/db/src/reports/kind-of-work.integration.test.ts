import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyUsage } from '../consistency/verify-usage.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { ingestTranscript } from '../testing/ingest-transcript.ts';
import { readUsageReport, resolveReportFilter } from './index.ts';

const ask = (uuid: string, fields: object = {}) => ({
  ...{ type: 'user', uuid, cwd: '/home/ada/app', message: { role: 'user', content: uuid } },
  ...fields,
});
const answer = (id: string, output: number, call?: object) => ({
  ...{ type: 'assistant', uuid: `a-${id}`, timestamp: '2026-03-01T10:00:00Z', requestId: `req-${id}` },
  message: {
    ...{ id: `msg_${id.padEnd(24, '0')}`, role: 'assistant', model: 'claude-opus-5', stop_reason: 'end_turn' },
    content: call === undefined ? [] : [{ type: 'tool_use', id: `toolu_${id.padEnd(24, '0')}`, ...call }],
    usage: { input_tokens: 0, output_tokens: output },
  },
});
const edit = { name: 'Edit', input: { file_path: '/a/x.ts' } };
const commit = { name: 'Bash', input: { command: 'git commit -m x' } };
const first = [
  ...[answer('0', 1), ask('u1'), answer('1', 10, edit), ask('u2'), answer('2', 100), answer('3', 1000, commit)],
];
/** Its copies of the first session's responses are in separate turns. */
const fork = [ask('f1'), answer('1', 10, edit), ask('f2'), answer('4', 10_000, { name: 'mcp__x__y', input: {} })];

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  for (const [name, lines] of Object.entries({ first, fork })) {
    const bytes = Buffer.from(lines.map((line) => `${JSON.stringify({ ...line, sessionId: name })}\n`).join(''));
    const key = { workspaceId: TEST_WORKSPACE, transcriptId: name };
    await ingestTranscript(pool, key, { path: `${name}.jsonl`, bytes });
  }
});
afterAll(() => pool.close());

async function read(groupBy: 'kind_of_work' | 'session' | 'model', kindOfWork?: string[]) {
  const request = { timeZone: 'UTC', subagents: 'include', kindOfWork } as const;
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, request);
  return await readUsageReport(pool.database, filter, { groupBy: [groupBy], limit: 100 });
}

describe('tokens and cost by kind of work', () => {
  it('add up to the totals, and are compared by verify', async () => {
    const { rows, totals } = await read('kind_of_work');
    expect(Object.fromEntries(rows.map((row) => [row.kind_of_work, row.own.tokens_out]))).toEqual({
      ...{ conversation: 1, coding: 10, operations: 1100, unknown: 10_000 },
    });
    expect(rows.reduce((sum, { own }) => sum + own.tokens_out, 0)).toBe(totals.own.tokens_out);
    expect(totals.own).toEqual((await read('model')).totals.own);
    const checks = await verifyUsage(pool.database, TEST_WORKSPACE);
    expect(checks.filter(({ missing, surplus }) => missing + surplus > 0)).toEqual([]);
    await pool.pool.query(`UPDATE recount.usage_rollup SET kind_of_work = 'review' WHERE kind_of_work = 'coding'`);
    const [found] = (await verifyUsage(pool.database, TEST_WORKSPACE)).filter(({ missing }) => missing > 0);
    expect(found?.table).toBe('usage_rollup');
    await pool.pool.query(`UPDATE recount.usage_rollup SET kind_of_work = 'coding' WHERE kind_of_work = 'review'`);
  });

  it('can be filtered by one or several kinds, or a part of a name', async () => {
    expect((await read('session', ['operations'])).totals.own.tokens_out).toBe(1100);
    expect((await read('session', ['cod', 'conversation'])).totals.own.tokens_out).toBe(11);
  });

  it('are in the SQL views', async () => {
    for (const view of ['api_responses', 'daily_usage']) {
      const { rows } = await pool.pool.query(
        `SELECT kind_of_work, sum(tokens_out)::int AS tokens FROM analytics.${view} GROUP BY 1 ORDER BY 1`,
      );
      expect(rows).toEqual([
        { kind_of_work: 'coding', tokens: 10 },
        { kind_of_work: 'conversation', tokens: 1 },
        { kind_of_work: 'operations', tokens: 1100 },
        { kind_of_work: 'unknown', tokens: 10_000 },
      ]);
    }
  });
});
