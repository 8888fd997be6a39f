import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabasePool, type DatabasePool } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { resolveReportFilter } from '../filters/report-filter.ts';
import { addDays, countDays, toMonday, toMonthStart } from '../reports/local-days.ts';
import { readUsageReport } from '../reports/read-usage-report.ts';
import type { BudgetPeriod } from '../schema/budgets.ts';
import { createTestPool, OTHER_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet, type TestSession } from '../testing/insert-test-fleet.ts';
import { createTestBudget, toCrossingWord as toWord } from '../testing/test-budget.ts';
import { writeRollups } from '../usage/write-rollups.ts';
import { type BudgetCrossingRow, type BudgetRow, listAllCrossings, listCrossings, type NewBudget } from './budgets.ts';
import { evaluateBudget } from './evaluate-budget.ts';
import { readBudgetStatus } from './read-spending.ts';

let pool: DatabasePool & { connectionString: string };
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

const DAYS = 60;
const FIRST_DAY = '2026-01-10';
const PEOPLE = Array.from({ length: 40 }, (_, index) => `person-${String(index).padStart(2, '0')}`);
const MODELS = ['claude-opus-5', 'claude-sonnet-4-5'];

interface Spent {
  id: string;
  person: string;
  repository: string;
  model: string;
  day: string;
  uploadedOn: string;
  costUsd: number;
  tokens: number;
}

/** Deterministic: a person works on five of seven days, and every ninth session is uploaded up to 12 days later. */
function makeFleet(): Spent[] {
  return PEOPLE.flatMap((person, index) =>
    Array.from({ length: DAYS }, (_, number): Spent[] => {
      const day = addDays(FIRST_DAY, number);
      if ((number + index) % 7 > 4) return [];
      const seed = (index * 7919 + number * 104_729) % 1000;
      return [
        {
          ...{ id: `${person}-${number}`, person, day, repository: `repo-${index % 6}`, model: MODELS[seed % 2] ?? '' },
          uploadedOn: seed % 9 === 0 ? addDays(day, 1 + (seed % 12)) : day,
          ...{ costUsd: 1 + seed / 100, tokens: 1000 + seed },
        },
      ];
    }).flat(),
  );
}

function toSession({ id, day, person, repository, model, costUsd, tokens }: Spent): TestSession {
  const at = `${day}T11:00:00Z`;
  const response = { timestamp: at, cost_usd: costUsd, model, tokens_in: tokens };
  return { session_id: id, person, repository, first_timestamp: at, last_timestamp: at, responses: [response] };
}

const BUDGETS: readonly (Partial<NewBudget> & { name: string })[] = [
  { name: 'everything', amount: 5000 },
  { name: 'by week', period: 'week', amount: 1200, thresholds: [90, 100, 110] },
  { name: 'by day', period: 'day', amount: 200, thresholds: [75, 100] },
  { name: 'one repository', period: 'week', amount: 180, filters: { repository: 'repo-3' } },
  { name: 'tokens of a model', unit: 'tokens', amount: 800_000, filters: { model: ['claude-opus-5'] } },
  ...PEOPLE.slice(0, 5).map((person) => ({ name: person, amount: 150, filters: { person: [person] } })),
];

const toStart = (period: BudgetPeriod, day: string): string =>
  period === 'day' ? day : period === 'week' ? toMonday(day) : toMonthStart(day);

/** The warnings that are due by a day, counted without SQL. `known` gets what is new. */
function expectCrossings(budget: NewBudget, spent: readonly Spent[], today: string, known: Set<string>): string[] {
  const { person, repository, model } = budget.filters as Record<string, string | string[] | undefined>;
  const isMeant = (wanted: string | string[] | undefined, value: string): boolean =>
    wanted === undefined || [wanted].flat().includes(value);
  const sums = new Map<string, number>();
  for (const each of spent) {
    if (!(isMeant(person, each.person) && isMeant(repository, each.repository) && isMeant(model, each.model))) continue;
    const start = toStart(budget.period, each.day);
    sums.set(start, (sums.get(start) ?? 0) + (budget.unit === 'usd' ? each.costUsd : each.tokens));
  }
  const found: string[] = [];
  for (const [start, sum] of sums)
    for (const threshold of budget.thresholds) {
      const key = `${start} threshold ${threshold}`;
      // Cents in binary may be off by their last bit.
      if (sum < (budget.amount * threshold) / 100 - 1e-9 || known.has(key)) continue;
      known.add(key);
      found.push(start < toStart(budget.period, today) ? `${key} late` : key);
    }
  return found.sort();
}

/** Prices of a model change for all stored responses, as after `recount reprice`. */
async function reprice(target: DatabasePool, uploaded: readonly Spent[], factor: number): Promise<void> {
  for (const each of uploaded) if (each.model === MODELS[0]) each.costUsd *= factor;
  await target.database.execute(sql`
    UPDATE recount.usage_ledger SET cost_usd = cost_usd * ${factor}::numeric
    WHERE workspace_id = ${OTHER_WORKSPACE} AND model = ${MODELS[0]}`);
  const ids = uploaded.map(({ id }) => id);
  await target.withTransaction((t) => writeRollups(t, { workspaceId: OTHER_WORKSPACE, sessionIds: [] }, ids));
}

describe('forty people in sixty days, with late uploads, a repricing and restarts', () => {
  it('get each warning exactly once, at the right moment', async () => {
    const created = `${addDays(FIRST_DAY, 3)}T12:00:00Z`;
    const rows: BudgetRow[] = [];
    for (const budget of BUDGETS) rows.push(await createTestBudget(pool, OTHER_WORKSPACE, budget, created));
    const known = new Map(rows.map(({ id }) => [id, new Set<string>()]));
    const fleet = makeFleet();
    const uploaded: Spent[] = [];
    let worker = createDatabasePool({ connectionString: pool.connectionString });
    let lateCount = 0;
    for (let number = 3; number < DAYS + 12; number++) {
      const today = addDays(FIRST_DAY, number);
      const arrived = fleet.filter(({ uploadedOn }) => uploadedOn === today || (number === 3 && uploadedOn < today));
      await insertTestFleet(worker, arrived.map(toSession), OTHER_WORKSPACE);
      uploaded.push(...arrived);
      if (number === 30) await reprice(worker, uploaded, 0.5);
      if (number === 38) await reprice(worker, uploaded, 2);
      if (number % 20 === 0) {
        await worker.close();
        worker = createDatabasePool({ connectionString: pool.connectionString });
      }
      const nowMs = Date.parse(`${today}T23:30:00Z`);
      for (const budget of rows) {
        // Some days, two workers at a time.
        const pools = number % 5 === 0 ? [worker, pool] : [worker];
        const found = await Promise.all(pools.map((each) => evaluateBudget(each, budget, nowMs)));
        const since = toStart(budget.period, created.slice(0, 10));
        const counted = uploaded.filter(({ day }) => day >= since);
        const expected = expectCrossings(budget, counted, today, known.get(budget.id) ?? new Set());
        expect({ today, budget: budget.name, found: found.flat().map(toWord).sort() }).toEqual({
          ...{ today, budget: budget.name, found: expected },
        });
        lateCount += expected.filter((word) => word.endsWith(' late')).length;
      }
    }
    await worker.close();
    // The fleet has all that it is meant to try.
    expect(countDays(FIRST_DAY, addDays(FIRST_DAY, DAYS))).toBe(60);
    expect(lateCount).toBeGreaterThan(5);
    expect([...known.values()].every(({ size }) => size > 0)).toBe(true);
    const history: BudgetCrossingRow[] = [];
    for await (const page of listAllCrossings(pool.database, OTHER_WORKSPACE)) history.push(...page);
    expect(history.length).toBe([...known.values()].reduce((sum, { size }) => sum + size, 0));
    await expectReportFigures(rows);
    await expectPages(rows[2] as BudgetRow);
  });
});

/** The report has the same figures for the same filters. */
async function expectReportFigures(rows: readonly BudgetRow[]): Promise<void> {
  const nowMs = Date.parse('2026-02-20T12:00:00Z');
  for (const { name, ...budget } of rows.slice(0, 6)) {
    const { from, to, spent } = await readBudgetStatus(pool.database, { name, ...budget }, nowMs);
    const request = { ...budget.filters, from, to, timeZone: 'UTC', subagents: 'include' as const };
    const { filter } = await resolveReportFilter(pool.database, OTHER_WORKSPACE, request);
    const { totals } = await readUsageReport(pool.database, filter, { limit: 1 });
    expect(spent).toBeGreaterThan(0);
    expect({ name, spent }).toEqual({
      ...{ name, spent: budget.unit === 'usd' ? totals.own.cost_usd : totals.own.total_tokens },
    });
  }
}

async function expectPages({ id: budgetId }: BudgetRow): Promise<void> {
  const place = { workspaceId: OTHER_WORKSPACE, budgetId };
  const all = await listCrossings(pool.database, place, { limit: 1000 });
  const paged: BudgetCrossingRow[] = [];
  for (let after: BudgetCrossingRow | undefined; ; after = paged.at(-1)) {
    const page = await listCrossings(pool.database, place, { after, limit: 7 });
    paged.push(...page);
    if (page.length < 7) break;
  }
  expect(paged).toEqual(all);
  expect(all.map(({ crossed_at }) => crossed_at)).toEqual(
    all
      .map(({ crossed_at }) => crossed_at)
      .sort()
      .reverse(),
  );
}
