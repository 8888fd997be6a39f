import { flatDefaultPrices, type JsonValue } from '@recount/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeFindings } from '../findings/write-findings.ts';
import { contentBlocks } from '../schema/messages.ts';
import { copyToOtherTenant } from '../testing/copy-to-other-tenant.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet, type TestSession } from '../testing/insert-test-fleet.ts';
import type { FindingKind } from './finding-kinds.ts';
import { type ReportRequest, readFindingsReport, readModelChoiceReport, resolveReportFilter } from './index.ts';
import { readWasteReport } from './read-waste-report.ts';

type Call = NonNullable<TestSession['calls']>[number] & { input?: JsonValue; result?: string };

const READ = { tool_name: 'Read', file_path: '/app/a.ts', input: { file_path: '/app/a.ts' }, output_bytes: 400 };
const TEST_RUN = { tool_name: 'Bash', program: 'npm', input: { command: 'npm test' }, output_bytes: 1000 };
const FAILED = { ...TEST_RUN, is_error: true, result: 'no such file' };

/** Calls as the lines of a transcript would make them, each in the response named by its index. */
const CALLS: Record<string, Call[]> = {
  loops: [
    // Three in a row, two of them repeats; the last one is stored first, because its result came first.
    { ...TEST_RUN, call_number: 1, response_key: 'loops-0' },
    { ...TEST_RUN, call_number: 2, response_key: 'loops-1' },
    { ...TEST_RUN, call_number: 0, response_key: 'loops-1' },
    { ...TEST_RUN, input: { command: 'npm tess' } },
    READ,
    // Two calls are not a run, nor are three with another in between.
    { ...TEST_RUN, input: { command: 'npm run a' } },
    { ...TEST_RUN, input: { command: 'npm run a' } },
    READ,
    { ...TEST_RUN, input: { command: 'npm run a' } },
    // Reads before and after the edit do not add up to three; another part of the file is a different read.
    { tool_name: 'Edit', file_path: '/app/a.ts' },
    { ...READ, response_key: 'loops-2' },
    { ...READ, input: { file_path: '/app/a.ts', offset: 9 } },
    { ...READ, response_key: 'loops-3' },
    { tool_name: 'Edit', file_path: '/app/a.ts', is_error: true },
    READ,
  ],
  failures: [
    { ...FAILED, input: { command: 'npm x' }, input_bytes: 1, response_key: 'failures-0' },
    { ...FAILED, input: { command: 'npm xy' }, input_bytes: 2, response_key: 'failures-1' },
    { ...FAILED, input: { command: 'npm xyz' }, input_bytes: 3, response_key: 'failures-2' },
    // A different error of the same length.
    { ...FAILED, input: { command: 'npm xyzz' }, input_bytes: 4, result: 'no such path' },
    { ...TEST_RUN, input_bytes: 5, is_denied: true, is_error: true, result: 'no such path' },
    { ...TEST_RUN, input_bytes: 6, is_error: true, result: 'no such path' },
    { ...READ, output_bytes: 40_000, line_number: 17 },
    { ...READ, output_bytes: 39_999, input: { offset: 1 } },
  ],
};

const at = (minutes: number): string => new Date(Date.UTC(2026, 4, 4, 10, minutes)).toISOString();
const CACHED = {
  cache_read: 10_000,
  cache_write: 1000,
  cost_usd: 0.02,
  cost_cache_read_usd: 0.005,
  cost_cache_write_usd: 0.00625,
};

const FLEET: TestSession[] = [
  {
    session_id: 'loops',
    project: '/app',
    title: 'Loops',
    first_timestamp: at(0),
    last_timestamp: at(9),
    responses: [1, 2, 4, 8].map((cost_usd, index) => ({ timestamp: at(index), cost_usd })),
    calls: CALLS.loops?.map(({ input: _input, result: _result, ...call }) => call) ?? [],
  },
  {
    session_id: 'failures',
    first_timestamp: at(0),
    last_timestamp: at(9),
    responses: [{ cost_usd: 0.5 }, { cost_usd: 0.25 }, { cost_usd: null, price_basis: 'unpriced', model: 'new' }],
    calls: CALLS.failures?.map(({ input: _input, result: _result, ...call }) => call) ?? [],
  },
  {
    session_id: 'paused',
    first_timestamp: at(0),
    responses: [
      { ...CACHED, timestamp: at(0) },
      // The cache had 11,000 tokens, and 2,000 were still read. So 9,000 of the 9,500 written were there before.
      {
        ...{ timestamp: at(6), message_id: 'message-6', cache_read: 2000, cache_write: 9500, cost_usd: 0.1 },
        ...{ cost_cache_read_usd: 0.001, cost_cache_write_usd: 0.059375 },
      },
      // Within five minutes.
      { ...CACHED, timestamp: at(11), cache_read: 0, cache_write: 20_000 },
      // Kept for an hour, so that half an hour loses nothing.
      { ...CACHED, timestamp: at(41), cache_write_1h: 1000 },
      // Another model has another cache.
      { ...CACHED, timestamp: at(141), cache_read: 0, cost_usd: 0.001, model: 'claude-haiku-4-5' },
      // It is unknown what reading would have cost.
      {
        timestamp: at(151),
        model: 'claude-haiku-4-5',
        cache_write: 500,
        cost_cache_write_usd: 0.0005,
        cost_usd: 0.0005,
      },
    ],
  },
  {
    session_id: 'asked',
    first_timestamp: at(0),
    last_timestamp: at(5),
    prompt_count: 2,
    turn_count: 1,
    responses: [{ cost_usd: 3, tokens_out: 7 }],
    events: [
      { kind: 'prompt', line_number: 1 },
      { kind: 'prompt', line_number: 50 },
    ],
  },
  {
    session_id: 'running',
    first_timestamp: at(0),
    last_timestamp: at(61),
    prompt_count: 1,
    events: [{ kind: 'prompt' }],
  },
  {
    session_id: 'stopped',
    first_timestamp: at(0),
    last_timestamp: at(5),
    responses: [{ cost_usd: 20 }],
    calls: [{ tool_name: 'Bash', program: 'sleep', is_error: null, output_bytes: null, line_number: 60 }],
  },
];

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(pool, FLEET);
  for (const [sessionId, calls] of Object.entries(CALLS)) {
    const blocks = calls.flatMap((call, index) => {
      const id = `${sessionId}-${index}`;
      const place = {
        row_set_id: `transcript-${sessionId}`,
        session_id: sessionId,
        line_number: index + 1,
        metadata: {},
      };
      const common = { ...place, workspace_id: TEST_WORKSPACE, byte_offset: 0, byte_length: 1 };
      const use = {
        ...{ ...common, id, message_id: 'message', block_order: 2 * index, block_type: 'tool_use', tool_use_id: id },
        ...{ tool_name: call.tool_name ?? '', tool_kind: 'other' as const, tool_input: call.input ?? {} },
      };
      const result = { ...common, id: `${id}r`, message_id: 'message', block_order: 2 * index + 1, tool_result_id: id };
      return [use, { ...result, block_type: 'tool_result', result_text: call.result ?? 'fine' }];
    });
    await pool.database.insert(contentBlocks).values(blocks);
  }
  const sessionIds = FLEET.map(({ session_id }) => session_id);
  await pool.withTransaction((transaction) => writeFindings(transaction, TEST_WORKSPACE, sessionIds));
  await copyToOtherTenant(pool, 'loops');
});
afterAll(() => pool.close());

const QUIET_FROM = Date.UTC(2026, 4, 4, 12);

async function find(kind?: FindingKind, request: Partial<ReportRequest> = {}, limit = 50) {
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, {
    timeZone: 'UTC',
    subagents: 'include',
    ...request,
  });
  const thresholds = { minResultBytes: 40_000, minSessionCostUsd: 10, nowMs: QUIET_FROM };
  return await readFindingsReport(pool.database, filter, { kind, limit, ...thresholds });
}

describe('findings', () => {
  it('finds repeated identical calls, and what repeating them cost', async () => {
    const { rows, totals, kinds } = await find('repeated-call');
    expect(rows).toEqual([
      {
        ...{ kind: 'repeated-call', session_id: 'loops', title: 'Loops', project: '/app', timestamp: at(0) },
        ...{ message_id: 'message', line_number: 1, tool: 'Bash', subject: 'npm', times: 3, pause_ms: null },
        // Two results of 1,000 bytes; the second and third calls are in the same response.
        ...{ estimated_tokens: 500, tokens: 0, cost_usd: 2 },
        ...{ repository: null, person: null, is_dismissed: false },
      },
    ]);
    expect(totals).toEqual({ findings: 1, dismissed_findings: 0 });
    expect(kinds).toEqual([
      {
        ...{ kind: 'repeated-call', findings: 1, sessions: 1, times: 3, estimated_tokens: 500, tokens: 0, cost_usd: 2 },
        ...{ dismissed_findings: 0, dismissed_cost_usd: 0 },
      },
    ]);
  });

  it('finds repeated identical errors, whatever was called', async () => {
    const { rows } = await find('repeated-error');
    expect(rows).toMatchObject([
      // One of the two repeats has no price.
      { session_id: 'failures', line_number: 1, tool: 'Bash', subject: 'npm', times: 3, cost_usd: 0.25 },
    ]);
  });

  it('finds files that were read again without a change in between', async () => {
    const { rows } = await find('repeated-read');
    expect(rows).toMatchObject([
      { session_id: 'loops', line_number: 11, subject: '/app/a.ts', times: 3, estimated_tokens: 200, cost_usd: 8 },
    ]);
  });

  it('finds large results', async () => {
    const { rows } = await find('large-result');
    expect(rows).toMatchObject([
      { session_id: 'failures', line_number: 17, tool: 'Read', estimated_tokens: 10_000, cost_usd: null },
    ]);
  });

  it('finds cache that was written again after a pause, and the extra cost over reading it', async () => {
    const { rows, kinds } = await find('cold-cache');
    expect(rows.map(({ message_id, tokens, pause_ms, cost_usd }) => [message_id, tokens, pause_ms, cost_usd])).toEqual([
      ['message-6', 9000, 6 * 60_000, 9000 * (6.25e-6 - 0.5e-6)],
      [null, 500, 10 * 60_000, null],
    ]);
    expect(kinds).toMatchObject([{ findings: 2, sessions: 1, tokens: 9500, cost_usd: 0.05175 }]);
  });

  it('finds sessions that ended with an unanswered prompt or an open call', async () => {
    const { rows } = await find('unfinished-session');
    expect(rows).toMatchObject([
      { session_id: 'stopped', line_number: 60, tool: 'Bash', subject: 'sleep', cost_usd: 20 },
      { session_id: 'asked', line_number: 50, tool: null, tokens: 7, cost_usd: 3 },
    ]);
  });

  it('finds expensive sessions', async () => {
    const { rows } = await find('expensive-session');
    expect(rows.map(({ session_id, cost_usd }) => [session_id, cost_usd])).toEqual([
      ['stopped', 20],
      ['loops', 15],
    ]);
  });

  it('lists all kinds together, the most expensive first, and counts beyond the limit', async () => {
    const { rows, totals, truncated, kinds } = await find(undefined, {}, 2);
    expect(rows.map(({ kind }) => kind)).toEqual(['unfinished-session', 'expensive-session']);
    expect(totals.findings).toBe(kinds.reduce((sum, { findings }) => sum + findings, 0));
    expect([totals.findings, truncated, kinds.length]).toEqual([10, true, 7]);
  });

  it('finds nothing outside of the filter', async () => {
    for (const request of [{ to: '2026-05-04' }, { from: '2026-05-05' }, { project: '/other' }, { person: 'ada' }]) {
      const unknown = await find(undefined, request).catch((error: Error) => error);
      if (unknown instanceof Error) expect(unknown.name).toBe('UnresolvedNameError');
      else expect(unknown).toMatchObject({ rows: [], totals: { findings: 0 } });
    }
  });
});

describe('potential waste', () => {
  const waste = async (groupBy: Parameters<typeof readWasteReport>[2]['groupBy'], timeZone = 'UTC') => {
    const request = { timeZone, subagents: 'include' as const };
    const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, request);
    return await readWasteReport(pool.database, filter, { groupBy, limit: 10 });
  };

  it('is the cost of each repeated response and of cold caches, as a share of all cost', async () => {
    const { rows, totals } = await waste(['agent']);
    // The findings of calls, errors, reads and two caches; one cache has no price. Whole sessions are no waste.
    const figures = { findings: 5, waste_usd: 2 + 0.25 + 8 + 0.05175, cost_usd: 15 + 0.75 + 0.1615 + 3 + 20 };
    expect(totals).toMatchObject({ findings: 5, waste_usd: expect.closeTo(figures.waste_usd, 9) });
    expect(totals.cost_usd).toBeCloseTo(figures.cost_usd, 9);
    expect(totals.waste_share).toBeCloseTo(figures.waste_usd / figures.cost_usd, 9);
    expect(rows).toMatchObject([{ agent: expect.any(String), findings: 5 }]);
  });

  it('is of the local day of its finding', async () => {
    expect((await waste(['day'])).rows).toMatchObject([{ day: '2026-05-04', findings: 5 }]);
    // The last one, of 12:31, is of the next day there.
    expect((await waste(['week', 'day'], 'Pacific/Auckland')).rows).toMatchObject([
      { week: '2026-05-04', day: '2026-05-04', findings: 4 },
      { week: '2026-05-04', day: '2026-05-05', findings: 1, waste_usd: 0 },
    ]);
    expect((await waste(['month'], 'Pacific/Kiritimati')).rows).toMatchObject([{ month: '2026-05', findings: 5 }]);
  });
});

describe('model choice', () => {
  it('prices the tokens of each model as the next cheaper one would', async () => {
    const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, {
      timeZone: 'UTC',
      subagents: 'include',
      sessionId: 'paused',
    });
    const rates: Record<string, number> = { 'claude-opus-5': 5, 'claude-haiku-4-5': 1 };
    const prices = {
      ...flatDefaultPrices,
      price: ({ model, usage }: Parameters<typeof flatDefaultPrices.price>[0]) => ({
        costUsd: ((rates[model ?? ''] ?? 0) * (usage.cacheReadTokens + usage.cacheWriteTokens)) / 1e6,
        costs: null,
        basis: 'list' as const,
      }),
    };
    const report = await readModelChoiceReport(
      pool.database,
      filter,
      { limit: 10 },
      {
        prices,
        requestSizes: [15_000],
        isComparable: () => true,
        knownModels: [],
        isLaterGeneration: () => false,
      },
    );
    expect(report.rows).toMatchObject([
      // 11,000 + 11,500 + 20,000 + 11,000 tokens.
      {
        model: 'claude-opus-5',
        cheaper_model: 'claude-haiku-4-5',
        responses: 4,
        cost_usd: 0.16,
        cheaper_cost_usd: 0.0535,
      },
      { model: 'claude-haiku-4-5', cheaper_model: null, responses: 2, cheaper_cost_usd: null },
    ]);
    expect(report.totals).toMatchObject({ responses: 4, cost_usd: 0.16, cheaper_cost_usd: 0.0535 });
    const succeeded = await readModelChoiceReport(
      pool.database,
      filter,
      { limit: 10 },
      {
        prices,
        requestSizes: [15_000],
        isComparable: () => true,
        // In the price list, not in use.
        knownModels: ['claude-haiku-9'],
        isLaterGeneration: (model, other) => model === 'claude-haiku-9' && other === 'claude-haiku-4-5',
      },
    );
    expect(succeeded.rows.map(({ cheaper_model }) => cheaper_model)).toEqual([null, null]);
  });
});
