import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DatabasePool } from '../database/database.ts';
import { addDays } from '../reports/local-days.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet } from '../testing/insert-test-fleet.ts';
import { createTestBudget, toTestBudget, toCrossingWord as toWord } from '../testing/test-budget.ts';
import { listAuditEntries } from '../workspaces/audit-log.ts';
import { changeBudget, createBudget, deleteBudget, listCrossings, type NewBudget } from './budgets.ts';
import { evaluateBudget } from './evaluate-budget.ts';
import { readBudgetStatus } from './read-spending.ts';

let pool: DatabasePool & { connectionString: string };
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

const create = (budget: Partial<NewBudget> & { name: string }, createdAt: string, workspaceId = TEST_WORKSPACE) =>
  createTestBudget(pool, workspaceId, budget, createdAt);

/** A session of one response. */
async function spend(
  name: string,
  timestamp: string,
  costUsd: number,
  more: object = {},
  workspaceId = TEST_WORKSPACE,
) {
  const session = { session_id: name, first_timestamp: timestamp, last_timestamp: timestamp, person: 'ada', ...more };
  const response = { timestamp, cost_usd: costUsd, tokens_in: 1000 };
  await insertTestFleet(pool, [{ ...session, responses: [response] }], workspaceId);
}

describe('a budget', () => {
  it('counts what its filters let through, in periods of its time zone', async () => {
    const place = { filters: { person: 'zoe' }, time_zone: 'Asia/Tokyo', period: 'day' as const, amount: 10 };
    const budget = await create({ name: 'zoe', ...place }, '2025-06-02T00:00:00Z');
    await spend('tokyo', '2025-06-02T15:30:00Z', 6, { person: 'zoe' });
    await spend('other person', '2025-06-02T15:30:00Z', 50, { person: 'bob' });
    const now = Date.parse('2025-06-02T16:00:00Z');
    expect(await readBudgetStatus(pool.database, budget, now)).toMatchObject({
      ...{ from: '2025-06-03', to: '2025-06-04', spent: 6, forecast: null, unmatched: [] },
    });
    expect((await evaluateBudget(pool, budget, now)).map(toWord)).toEqual(['2025-06-03 threshold 50']);
    expect(await evaluateBudget(pool, budget, now)).toEqual([]);
  });

  it('names filters that match nothing', async () => {
    const budget = await create({ name: 'typo', filters: { person: ['zzz'] } }, '2025-06-01T00:00:00Z');
    const { spent, unmatched } = await readBudgetStatus(pool.database, budget, Date.parse('2025-06-10T00:00:00Z'));
    expect({ spent, messages: unmatched.length }).toEqual({ spent: 0, messages: 1 });
  });

  it('records nothing of a budget that was changed or deleted since it was read', async () => {
    const budget = await create({ name: 'stale', filters: { person: 'zoe' }, amount: 6 }, '2025-06-01T00:00:00Z');
    const place = { workspaceId: TEST_WORKSPACE, id: budget.id, actor: 'key:k' as const };
    const changed = await pool.withTransaction((transaction) => changeBudget(transaction, place, { amount: 1000 }));
    const now = Date.parse('2025-06-10T00:00:00Z');
    expect(await evaluateBudget(pool, budget, now)).toEqual([]);
    expect(changed).toMatchObject({ amount: 1000, name: 'stale' });
    expect(await pool.withTransaction((transaction) => deleteBudget(transaction, place))).toBe(true);
    expect(await evaluateBudget(pool, budget, now)).toEqual([]);
    const entries = await listAuditEntries(pool.database, TEST_WORKSPACE, { subject: budget.id }, { limit: 10 });
    expect(entries.map(({ action }) => action)).toEqual(['budget.delete', 'budget.change', 'budget.create']);
    expect(entries[1]?.details).toEqual({ from: { amount: 6 }, to: { amount: 1000 } });
  });

  it('has its own name in the workspace', async () => {
    const make = () =>
      pool.withTransaction((t) => createBudget(t, OTHER_WORKSPACE, toTestBudget({ name: 'n' }), 'system'));
    expect(await make()).toMatchObject({ name: 'n' });
    expect(await make()).toBe('taken');
  });

  it('warns of a forecast with its range, once', async () => {
    for (let day = 1; day <= 20; day++) {
      const date = addDays('2025-08-01', day - 1);
      await spend(`forecast ${day}`, `${date}T10:00:00Z`, 10, { person: 'fay' });
    }
    const filters = { person: 'fay' };
    const budget = await create(
      { name: 'fay', filters, amount: 250, thresholds: [], forecast_percent: 100 },
      '2025-08-01T00:00:00Z',
    );
    const [crossing, ...more] = await evaluateBudget(pool, budget, Date.parse('2025-08-20T12:00:00Z'));
    expect(more).toEqual([]);
    // 20 days at $10, and 11 more like them.
    expect(crossing).toMatchObject({ kind: 'forecast', threshold: 100, figure: 310, low: 310, high: 310, amount: 250 });
    expect(await evaluateBudget(pool, budget, Date.parse('2025-08-21T12:00:00Z'))).toEqual([]);
  });

  it.each([
    ['month', '2025-12-31T23:30:00Z', '2025-12-01', '2026-01-01'],
    ['month', '2026-01-01T00:00:00Z', '2026-01-01', '2026-02-01'],
    ['month', '2026-02-28T12:00:00Z', '2026-02-01', '2026-03-01'],
    ['week', '2026-01-01T00:00:00Z', '2025-12-29', '2026-01-05'],
    ['day', '2025-12-31T23:59:59Z', '2025-12-31', '2026-01-01'],
  ] as const)('has one %s, at %s, from its first day to the one after its last', async (period, now, from, to) => {
    const budget = await create(
      { name: `${period} ${now}`, period, filters: { person: 'nia' } },
      '2025-01-01T00:00:00Z',
    );
    expect(await readBudgetStatus(pool.database, budget, Date.parse(now))).toMatchObject({ from, to, spent: 0 });
  });

  it('is warned of once, however many processes look, and keeps its own history', async () => {
    const filters = { person: 'max' };
    const created = '2025-03-01T00:00:00Z';
    await spend('max', '2025-03-03T10:00:00Z', 90, { person: 'max' });
    await spend('max', '2025-03-03T10:00:00Z', 55, { person: 'max' }, OTHER_WORKSPACE);
    const budget = await create({ name: 'max', filters }, created);
    const others = [
      await create({ name: 'max', filters }, created, OTHER_WORKSPACE),
      await create({ name: 'max too', filters, amount: 180 }, created),
    ];
    const now = Date.parse('2025-03-04T00:00:00Z');
    const found = await Promise.all(Array.from({ length: 3 }, () => evaluateBudget(pool, budget, now)));
    for (const other of others) await evaluateBudget(pool, other, now);
    const expected = ['2025-03-01 threshold 50', '2025-03-01 threshold 80'];
    expect(found.flat().map(toWord).sort()).toEqual(expected);
    const readHistory = async (workspaceId: string, budgetId: string) =>
      (await listCrossings(pool.database, { workspaceId, budgetId }, { limit: 10 })).map(toWord).sort();
    expect(await readHistory(TEST_WORKSPACE, budget.id)).toEqual(expected);
    expect(await readHistory(OTHER_WORKSPACE, budget.id)).toEqual([]);
    // 55 of 100, and 90 of 180.
    for (const other of others) expect(await readHistory(other.workspace_id, other.id)).toEqual([expected[0]]);
  });
});
