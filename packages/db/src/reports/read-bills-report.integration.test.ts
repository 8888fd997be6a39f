import type { BillRow, TelemetryRecord } from '@recount/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deleteBill, listBills, storeBill } from '../bills/bill-rows.ts';
import { storeTelemetry } from '../telemetry/telemetry-records.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet } from '../testing/insert-test-fleet.ts';
import { type ReportRequest, resolveReportFilter } from './index.ts';
import { readBillsReport } from './read-bills-report.ts';

const toLine = (day: string, changes: Partial<BillRow>): BillRow => ({
  day,
  kind: 'cost',
  model: null,
  lineItem: null,
  scope: null,
  serviceTier: null,
  amountUsd: null,
  ...{ inputTokens: null, outputTokens: null, cacheReadTokens: null, cacheWriteTokens: null },
  identity: JSON.stringify([day, changes.model, changes.lineItem, changes.kind]),
  ...changes,
});

const toRecord = (sessionId: string, costUsd: number): TelemetryRecord => ({
  ...{ agent: 'claude-code', kind: 'request', sessionId, requestId: null, model: 'claude-opus-5-5', purpose: null },
  ...{ timestampMs: Date.parse('2026-03-02T10:00:00Z'), inputTokens: 7, outputTokens: 0, cacheReadTokens: 0 },
  ...{ cacheWriteTokens: 0, costUsd, person: null, machine: null, identity: sessionId },
});

const toResponse = (timestamp: string, model: string, cost_usd: number | null) => ({
  timestamp,
  model,
  cost_usd,
  tokens_in: 100,
  ...(cost_usd === null && { price_basis: 'unpriced' as const }),
});

const IMPORT = { workspaceId: TEST_WORKSPACE, actor: 'operator:ada' as const };

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(pool, [
    {
      ...{ session_id: 'a', first_timestamp: '2026-03-01T10:00:00Z' },
      responses: [
        toResponse('2026-03-01T10:00:00Z', 'claude-opus-5-5', 5),
        toResponse('2026-03-02T23:30:00Z', 'claude-opus-5-5', 5),
        toResponse('2026-03-02T10:00:00Z', 'claude-haiku-5', 2),
        toResponse('2026-03-02T10:00:00Z', 'claude-opus-5-5', null),
        // Before the bill begins, after it ends, and of vendors without a bill.
        toResponse('2026-02-28T10:00:00Z', 'claude-opus-5-5', 100),
        toResponse('2026-03-04T10:00:00Z', 'claude-opus-5-5', 100),
        toResponse('2026-03-02T10:00:00Z', 'gpt-6.2', 100),
      ],
    },
    {
      ...{ session_id: 'b', agent: 'copilot', first_timestamp: '2026-03-02T10:00:00Z' },
      responses: [{ ...toResponse('2026-03-02T10:00:00Z', 'claude-opus-5-5', 100), agent: 'copilot' }],
    },
  ]);
  await storeTelemetry(pool.database, TEST_WORKSPACE, [toRecord('gone', 3), toRecord('a', 0.5)]);
  await pool.withTransaction((transaction) =>
    storeBill(transaction, { ...IMPORT, vendor: 'anthropic' }, [
      toLine('2026-03-01', {
        model: 'claude-opus-5-5-20260201',
        lineItem: 'input',
        amountUsd: 6,
        serviceTier: 'standard',
      }),
      toLine('2026-03-02', {
        model: 'claude-opus-5-5-20260201',
        lineItem: 'input',
        amountUsd: 10,
        serviceTier: 'batch',
      }),
      toLine('2026-03-02', { model: 'claude-sonnet-5', lineItem: 'output', amountUsd: 4 }),
      toLine('2026-03-02', { lineItem: 'Web Search', amountUsd: 1.5 }),
      toLine('2026-03-03', { lineItem: 'Credit', amountUsd: -2 }),
      toLine('2026-03-02', { model: 'claude-opus-5-5', kind: 'usage', inputTokens: 300, outputTokens: 20 }),
    ]),
  );
});
afterAll(() => pool.close());

async function report(groupBy: Parameters<typeof readBillsReport>[2]['groupBy'], request: Partial<ReportRequest> = {}) {
  const base = { timeZone: 'Pacific/Auckland', subagents: 'include' as const, ...request };
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, base);
  return await readBillsReport(pool.database, filter, { groupBy, limit: 100 });
}

describe('the report on bills', () => {
  it('explains what is known of the difference, and adds up', async () => {
    const { totals, rows } = await report(['month']);
    expect(totals).toEqual({
      bill_usd: 19.5,
      telemetry_usd: 3.5,
      transcript_usd: 12,
      bill_tokens: null,
      transcript_tokens: 400,
      difference_usd: 7.5,
      other_items_usd: 1.5,
      credits_usd: -2,
      missing_sessions_usd: 3,
      only_telemetry_usd: 0.5,
      // claude-sonnet-5
      no_transcripts_usd: 4,
      // claude-haiku-5
      not_billed_usd: -2,
      unexplained_usd: 2.5,
      other_tier_usd: 10,
      unpriced_responses: 1,
    });
    expect(rows).toMatchObject([{ month: '2026-03', vendor: 'anthropic', bill_usd: 19.5 }]);
  });

  it('compares models without the date in their names', async () => {
    const { rows } = await report(['model']);
    const list = rows.map(({ model, bill_usd, transcript_usd, bill_tokens, unexplained_usd }) => [
      ...[model, bill_usd, transcript_usd, bill_tokens, unexplained_usd],
    ]);
    expect(list).toEqual([
      ['claude-opus-5-5', 16, 10, null, 2.5],
      ['claude-sonnet-5', 4, 0, null, 0],
      [null, -0.5, 0, null, 0],
      ['claude-haiku-5', 0, 2, null, 0],
    ]);
  });

  it('has the days of the vendor, whatever the time zone', async () => {
    const { rows } = await report(['day']);
    expect(rows.map(({ day, bill_usd, transcript_usd }) => [day, bill_usd, transcript_usd])).toEqual([
      ['2026-03-01', 6, 5],
      ['2026-03-02', 15.5, 7],
      ['2026-03-03', -2, 0],
    ]);
    expect((await report(['day'], { from: '2026-03-02T00:00:00Z' })).totals).toMatchObject({ bill_usd: 13.5 });
  });

  it('takes the figures of a later import, and loses lines that are deleted', async () => {
    const bill = { ...IMPORT, vendor: 'openai' };
    const store = (amountUsd: number) =>
      pool.withTransaction((transaction) => storeBill(transaction, bill, [toLine('2026-03-02', { amountUsd })]));
    await store(90);
    await store(80);
    // An amount that the report does not split by model explains nothing.
    const { rows } = await report(['month']);
    expect(rows).toMatchObject([
      { vendor: 'openai', bill_usd: 80, transcript_usd: 100, not_billed_usd: 0, unexplained_usd: -20 },
      { vendor: 'anthropic' },
    ]);
    expect(await listBills(pool.database, TEST_WORKSPACE)).toMatchObject([
      { vendor: 'anthropic', lines: 6, first_day: '2026-03-01', last_day: '2026-03-03', amount_usd: 19.5 },
      { vendor: 'openai', lines: 1, amount_usd: 80 },
    ]);
    const remove = (days: object) => pool.withTransaction((transaction) => deleteBill(transaction, bill, days));
    expect([await remove({ lastDay: '2026-03-01' }), await remove({ firstDay: '2026-03-02' })]).toEqual([0, 1]);
    expect((await report(['month'])).rows).toHaveLength(1);
  });
});
