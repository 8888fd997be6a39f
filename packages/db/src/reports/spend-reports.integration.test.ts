import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet, type TestSession } from '../testing/insert-test-fleet.ts';
import { type ReportRequest, resolveReportFilter } from './index.ts';
import { readChangesReport } from './read-changes-report.ts';
import { readForecastReport } from './read-forecast-report.ts';

/** A session with a response of one dollar's cost in each place of the list: [moment, dollars]. */
const toSession = (
  session_id: string,
  responses: readonly (readonly [string, number | null])[],
  more: Partial<TestSession> = {},
): TestSession => ({
  session_id,
  first_timestamp: responses[0]?.[0] ?? null,
  last_timestamp: responses.at(-1)?.[0] ?? null,
  responses: responses.map(([timestamp, cost_usd]) => ({
    ...{ timestamp, cost_usd, ...(cost_usd === null && { price_basis: 'unpriced' as const, model: 'new' }) },
  })),
  ...more,
});

const FLEET: TestSession[] = [
  toSession('february', [['2026-02-28T10:00:00Z', 4]], { repository: 'api', person: 'ada' }),
  toSession('march', [['2026-03-01T10:00:00Z', 8]], { repository: 'web', person: 'ada' }),
  // In Berlin it is April.
  toSession('edge', [['2026-03-31T22:30:00Z', 16]], { repository: 'api', person: 'bob' }),
  toSession('unpriced', [['2026-03-20T10:00:00Z', null]], { repository: 'new' }),
];

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(pool, FLEET);
});
afterAll(() => pool.close());

async function toFilter(request: Partial<ReportRequest>) {
  const base = { timeZone: 'UTC', subagents: 'include' as const, ...request };
  return (await resolveReportFilter(pool.database, TEST_WORKSPACE, base)).filter;
}

async function forecast(now: string, request: Partial<ReportRequest> = {}) {
  const { rows, totals } = await readForecastReport(pool.database, await toFilter(request), Date.parse(now));
  return { totals, costs: Object.fromEntries(rows.map(({ period, cost_usd }) => [period, cost_usd])), rows };
}

describe('the report on the month', () => {
  it('has today, the month so far, and the same days of the last month', async () => {
    const { costs, rows, totals } = await forecast('2026-03-01T12:00:00Z');
    expect(costs).toEqual({
      ...{ today: 8, 'month-to-date': 8, 'same-days-last-month': 0, 'last-month': 4, forecast: null },
    });
    expect(rows.map(({ from, to }) => [from, to])).toEqual([
      ['2026-03-01', '2026-03-02'],
      ['2026-03-01', '2026-03-02'],
      ['2026-02-01', '2026-02-02'],
      ['2026-02-01', '2026-03-01'],
      ['2026-03-01', '2026-04-01'],
    ]);
    expect(totals).toEqual({ month: '2026-03', days: 31, days_left: 30, history_days: 1 });
  });

  it('ends the same days with a shorter month', async () => {
    const { rows } = await forecast('2026-03-30T12:00:00Z');
    expect(rows.find(({ period }) => period === 'same-days-last-month')).toMatchObject({
      to: '2026-03-01',
      cost_usd: 4,
    });
  });

  it('counts days by the time zone', async () => {
    const berlin = { timeZone: 'Europe/Berlin' };
    expect((await forecast('2026-03-31T22:45:00Z')).costs).toMatchObject({ today: 16, 'month-to-date': 24 });
    expect((await forecast('2026-03-31T22:45:00Z', berlin)).costs).toMatchObject({ today: 16, 'month-to-date': 16 });
  });

  it('says what responses without a price are missing, and forecasts from enough days', async () => {
    const { rows, costs, totals } = await forecast('2026-03-20T12:00:00Z');
    expect(rows.find(({ period }) => period === 'today')).toMatchObject({ cost_usd: null, unpriced_responses: 1 });
    expect(totals.history_days).toBe(20);
    // No working day of the history has a cost, two of its six days of weekends have, and four of these are left.
    expect(costs.forecast).toBeCloseTo(8 + (4 * (4 + 8)) / 6, 9);
  });

  it('repeats the answer of an earlier day', async () => {
    const then = await forecast('2026-03-20T12:00:00Z');
    expect((await forecast('2026-06-01T00:00:00Z', { to: '2026-03-20T12:00:00Z' })).rows).toEqual(then.rows);
    const whole = await forecast('2026-06-01T00:00:00Z', { to: '2026-04-01' });
    expect(whole.totals).toMatchObject({ month: '2026-03', days_left: 0 });
    expect(whole.costs).toMatchObject({ today: 16, 'month-to-date': 24 });
  });

  it('counts only what passes the filter', async () => {
    expect((await forecast('2026-03-31T23:00:00Z', { repository: 'api' })).costs).toMatchObject({
      'month-to-date': 16,
      'last-month': 4,
    });
  });
});

describe('the report on changes', () => {
  async function changes(request: Partial<ReportRequest>, page: Partial<Parameters<typeof readChangesReport>[2]> = {}) {
    const nowMs = Date.parse('2026-04-01T00:00:00Z');
    return await readChangesReport(pool.database, await toFilter(request), {
      ...{ groupBy: ['repository'], limit: 100, nowMs, ...page },
    });
  }

  it('compares each group with the days before, the largest difference first', async () => {
    const { rows, totals, previous } = await changes({ from: '2026-03-01', to: '2026-04-01' });
    expect(previous).toEqual({ from: '2026-01-29T00:00:00.000Z', to: '2026-03-01T00:00:00.000Z' });
    expect(rows.map((row) => [row.repository, row.previous_cost_usd, row.cost_usd, row.change_usd])).toEqual([
      ['api', 4, 16, 12],
      ['web', 0, 8, 8],
      ['new', 0, null, null],
    ]);
    expect(rows.map((row) => [row.previous_sessions, row.sessions])).toEqual([
      [1, 1],
      [0, 1],
      [0, 1],
    ]);
    expect(totals).toMatchObject({
      cost_usd: 24,
      previous_cost_usd: 4,
      change_usd: 20,
      sessions: 3,
      previous_sessions: 1,
    });
  });

  it('lists what is no longer used as less', async () => {
    const { rows } = await changes(
      { from: '2026-03-31', to: '2026-04-01' },
      { previousFrom: '2026-03-01', groupBy: ['person'] },
    );
    expect(rows.map(({ person, change_usd }) => [person, change_usd])).toEqual([
      ['bob', 16],
      ['ada', -8],
      [null, null],
    ]);
  });

  it('compares as many days of the viewer, also where clocks change', async () => {
    const { previous } = await changes({ from: '2026-03-30', to: '2026-04-06', timeZone: 'Europe/Berlin' });
    expect(previous).toEqual({ from: '2026-03-22T23:00:00.000Z', to: '2026-03-29T22:00:00.000Z' });
  });

  it('compares with nothing if the time has no beginning', async () => {
    const { previous, totals } = await changes({});
    expect(previous).toBeNull();
    expect(totals).toMatchObject({ previous_cost_usd: 0, change_usd: totals.cost_usd });
  });

  it('says that there are more', async () => {
    expect(await changes({ from: '2026-03-01' }, { limit: 1 })).toMatchObject({
      truncated: true,
      rows: [{ repository: 'api' }],
    });
  });
});
