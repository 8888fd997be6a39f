import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPerson, deletePerson } from '../people/people.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet, type TestSession } from '../testing/insert-test-fleet.ts';
import { readPlans, replacePlans } from '../workspaces/plans.ts';
import { type ReportRequest, resolveReportFilter } from './index.ts';
import { readPlansReport } from './read-plans-report.ts';

const decision = { workspaceId: TEST_WORKSPACE, actor: 'key:K1' } as const;
/** Wednesday. */
const NOW = Date.parse('2026-03-18T12:30:00Z');

/** Responses cost 1, 2, 4, 8 … so that each sum tells which ones it has. */
const toSession = (session_id: string, person: string, agent: string, costs: Record<string, number>): TestSession => {
  const times = Object.keys(costs);
  return {
    ...{ session_id, person, agent, first_timestamp: times[0] ?? null, last_timestamp: times.at(-1) ?? null },
    responses: Object.entries(costs).map(([timestamp, cost_usd]) => ({ timestamp, cost_usd })),
  };
};

const FLEET = [
  toSession('ada', 'ada', 'claude-code', {
    '2026-02-10T10:00:00Z': 1,
    '2026-03-02T10:00:00Z': 2,
    // More than seven days before now, by a minute.
    '2026-03-11T12:29:00Z': 4,
    '2026-03-11T12:45:00Z': 8,
    // Her window is from 08:00 to 13:00; everyone’s is from 07:00 to 12:00, and then from 12:00.
    '2026-03-18T08:20:00Z': 16,
    '2026-03-18T12:10:00Z': 32,
  }),
  toSession('ada-codex', 'Ada King', 'codex', { '2026-03-18T09:00:00Z': 64 }),
  toSession('bob', 'bob', 'claude-code', { '2026-03-18T07:50:00Z': 128 }),
];

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(pool, FLEET);
});
afterAll(() => pool.close());

const plan = (name: string, change: object = {}) => ({
  ...{ name, person: null, agent: null, monthly_usd: 100, seats: 1 },
  ...change,
});

async function read(plans: ReturnType<typeof plan>[], request: Partial<ReportRequest> = {}) {
  await pool.withTransaction((transaction) => replacePlans(transaction, decision, plans));
  const all = { timeZone: 'UTC', subagents: 'include' as const, ...request };
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, all);
  return (await readPlansReport(pool.database, filter, NOW)).rows;
}

describe('the report on plans', () => {
  it('compares the use of this month, at list prices, with the price of all seats', async () => {
    const [row] = await read([plan('Team', { seats: 4 })]);
    expect(row).toMatchObject({
      ...{ plan: 'Team', person: null, seats: 4, price_usd: 400, last_month_usd: 1, block: null },
      ...{ month_usd: 2 + 4 + 8 + 16 + 32 + 64 + 128, month_share: 254 / 400 },
      week: { from: '2026-03-11T12:30:00.000Z', to: '2026-03-18T12:30:00.000Z', cost_usd: 8 + 16 + 32 + 64 + 128 },
    });
    expect(row?.forecast_usd).toBeGreaterThan(254);
  });

  it('counts of a person and an agent only theirs, in the window that they began', async () => {
    const [row] = await read([plan('Max', { person: 'ada', agent: 'claude-code' })]);
    expect(row).toMatchObject({
      ...{ month_usd: 62, month_share: 0.62 },
      block: { from: '2026-03-18T08:00:00.000Z', to: '2026-03-18T13:00:00.000Z', cost_usd: 16 + 32 },
    });
    const [everyone] = await read([plan('All')]);
    expect(everyone?.block).toMatchObject({ from: '2026-03-18T12:00:00.000Z', cost_usd: 32 });
  });

  it('follows a person through all names', async () => {
    const id = await pool.withTransaction((transaction) =>
      createPerson(transaction, decision, { displayName: 'Ada King', email: null, names: ['ADA'] }),
    );
    for (const person of ['Ada King', 'ada']) {
      expect((await read([plan('Max', { person })]))[0]).toMatchObject({ month_usd: 62 + 64 });
    }
    await pool.withTransaction((transaction) => deletePerson(transaction, decision, id));
  });

  it('shows, with a filter by person, their plans and a seat of the workspace’s plans', async () => {
    const plans = [plan('Team', { seats: 40, monthly_usd: 30 }), plan('Max', { person: 'ada' })];
    expect(await read(plans, { person: 'bob' })).toMatchObject([
      { plan: 'Team', seats: 1, price_usd: 30, month_usd: 128 },
    ]);
    expect((await read(plans, { person: 'ada' })).map((row) => row.plan)).toEqual(['Team', 'Max']);
    expect(await read(plans, { onlyNames: ['bob'] })).toMatchObject([{ plan: 'Team', month_usd: 128 }]);
  });

  it('has no share of a free plan, and keeps the plan of someone without sessions', async () => {
    const rows = await read([plan('Free', { monthly_usd: 0 }), plan('Max', { person: 'eve' })]);
    expect(rows).toMatchObject([
      { price_usd: 0, month_share: null },
      { person: 'eve', month_usd: 0, month_share: 0, block: null },
    ]);
  });

  it('is empty without plans', async () => {
    expect(await read([])).toEqual([]);
    expect(await readPlans(pool.database, 'other')).toEqual([]);
  });
});
