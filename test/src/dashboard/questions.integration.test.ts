import { HOME_WORKSPACE } from '@recount/api/testing/test-api';
import { toTranscript } from '@recount/api/testing/transcript-lines';
import { evaluateBudget, listBudgets } from '@recount/db';
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectUsage } from '../fleet/expected-usage.ts';
import { type FleetFacts, sumUnits } from '../fleet/facts.ts';
import { generateFleet } from '../fleet/generate-fleet.ts';
import { OPUS_MODEL } from '../fleet/known-prices.ts';
import type { Question } from '../fleet/question.ts';
import { findBrowser } from './browser.ts';
import { PEOPLE, toFactsOf, uploadFleet } from './fleet-breakdowns.ts';
import { type MadeSession, SONNET, toMadeTranscript } from './made-session.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();
const { files, facts } = generateFleet(20_261_129);
const VIEWPORT = { width: 1440, height: 4000 };
/** In November, so that last month has clocks that change. A Thursday at noon. */
const TODAY = new Date('2026-11-05T12:00:00Z');
const DAY_MS = 86_400_000;
const OCTOBER = { timeZone: 'UTC', fromMs: Date.parse('2026-10-01'), toMs: Date.parse('2026-11-01') };
const ALL = { timeZone: 'UTC' };
const MAX_CLICKS = 3;

/** A repository in two folders: a clone and a worktree, each with two answers. */
const HERON = 'github.com/acme/heron';
const HERON_FOLDERS = ['/home/ada/heron', '/home/ada/.worktrees/heron-2'];
/** Dollars: two answers with 10 input, 1000 cached and 101 or 103 output tokens, at 3, 0.30 and 15 for a million. */
const HERON_COST = (HERON_FOLDERS.length * (2 * (10 * 3 + 1000 * 0.3) + (101 + 103) * 15)) / 1e6;

/** A repository of one person, who edits code for $1.50 on each weekday since October, and once repeats a command. */
const KITE = 'github.com/acme/kite';
const EDIT = { name: 'Edit', input: { file_path: '/home/x/kite/src/a.ts', old_string: 'a', new_string: 'b' } };
const KAY: readonly MadeSession[] = [
  ...Array.from({ length: 36 }, (_, index) => Date.parse('2026-10-01T09:00:00Z') + index * DAY_MS)
    .filter((ms) => ![0, 6].includes(new Date(ms).getUTCDay()))
    .map((ms) => ({ at: new Date(ms).toISOString(), costs: [1.5], repository: 'kite', price: SONNET, call: EDIT })),
  { at: '2026-11-03T10:00:00Z', costs: [1.5, 1.5, 1.5], repository: 'kite', price: SONNET },
];
const toKaysId = (index: number): string => `30000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
/** Dollars of 22 weekdays in October, and of four in November with the three responses. */
const KAY_OCTOBER = 22 * 1.5;
const KAY_NOVEMBER = 4 * 1.5 + 3 * 1.5;
const KAY_COST = KAY_OCTOBER + KAY_NOVEMBER;
/** The second and the third time of the same command. */
const KAY_WASTE = 2 * 1.5;
/** Each of the 17 weekdays that are left of November has the mean of the 20 in the last 28 days. */
const KAY_FORECAST = KAY_NOVEMBER + 17 * ((20 * 1.5 + 3 * 1.5) / 20);
const KAY_BUDGET = 12.5;
const KAY_PLAN = 42;

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard({ nowMs: TODAY.getTime() });
  await uploadFleet(dashboard.api, files);
  for (const [index, cwd] of HERON_FOLDERS.entries()) {
    const body = toTranscript(`heron-${index}`, 4, { cwd });
    const names = { person: 'zoe', machine: 'of zoe', repository: HERON, path: `/home/zoe/.claude/${index}.jsonl` };
    const answer = await dashboard.api.upload(body, names);
    if (!answer.ok) throw new Error(await answer.text());
  }
  for (const [index, made] of KAY.entries()) {
    const sessionId = toKaysId(index);
    const path = `/home/x/.claude/projects/-home-x-kite/${sessionId}.jsonl`;
    await dashboard.api.upload(toMadeTranscript(made, sessionId), {
      path,
      person: 'kay',
      machine: 'm',
      repository: KITE,
    });
  }
  await dashboard.api.work();
  await send('POST', '/v1/teams', { name: 'Harbour', cost_centre: 'CC-7' });
  for (const display_name of ['ada', 'kay']) await send('POST', '/v1/people', { display_name, team: 'Harbour' });
  const ofKay = { name: 'Of kay', time_zone: 'UTC', amount: KAY_BUDGET, filters: { person: 'kay' } };
  await send('POST', '/v1/budgets', ofKay);
  // It warns of nothing before it was created, which the database says by its own clock.
  await dashboard.api.database.pool.query('UPDATE recount.budgets SET created_at = $1', [TODAY]);
  for (const budget of await listBudgets(dashboard.api.database.database, HOME_WORKSPACE))
    await evaluateBudget(dashboard.api.database, budget, TODAY.getTime());
  await send('PUT', '/v1/plans', { plans: [{ name: 'Max', person: 'kay', monthly_usd: KAY_PLAN }] });
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

async function send(method: string, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await dashboard.api.fetch(path, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
}

/** A reader at the overview, who may click three times. */
async function startReading(path = '/?period=all') {
  const page = await dashboard.open('/uploads', { timezoneId: 'UTC', locale: 'en-US', viewport: VIEWPORT });
  await page.clock.setFixedTime(TODAY);
  await page.goto(dashboard.api.url + path);
  await page.locator('.totals data').first().waitFor();
  let clicks = 0;
  const click = async (target: Locator): Promise<void> => {
    expect(++clicks).toBeLessThanOrEqual(MAX_CLICKS);
    await target.click();
  };
  // The page before may have parts of the same names until the new one is there.
  const openPage = async (name: string): Promise<void> => {
    await click(toMenu(page, name));
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  };
  return { page, click, openPage };
}

const toDigits = (value: number): number => Number(value.toPrecision(12));
const toCost = (of: FleetFacts, question: Omit<Question, 'groupBy'>): number => {
  const { totals } = expectUsage(of, { ...question, groupBy: [] });
  return toDigits((totals as { own: { cost_usd: number } }).own.cost_usd);
};

/** Waits until the page's total is this cost. */
const expectTotal = (page: Page, cost: number) =>
  expect
    .poll(async () => {
      const total = page.locator('.totals > div').filter({ has: page.getByText('Cost', { exact: true }) });
      const value = await total.first().locator('data').first().getAttribute('value');
      return value === null ? null : toDigits(Number(value));
    })
    .toBe(toDigits(cost));

const toMenu = (page: Page, name: string): Locator =>
  page.getByRole('navigation').getByRole('link', { name, exact: true });

/** Costs in a table, whose first figure they are, by the title of the link in each row. */
const readCosts = async (rows: Locator): Promise<Record<string, number>> =>
  Object.fromEntries(
    await rows.evaluateAll((all) =>
      all.map((row) => [
        row.querySelector('a')?.title ?? '',
        Number(Number(row.querySelector('.figure')?.getAttribute('value')).toPrecision(12)),
      ]),
    ),
  );

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Exact values of the figures in an element. */
const readNumbers = async (of: Locator): Promise<number[]> =>
  (await of.locator('data').evaluateAll((all) => all.map((each) => Number(each.getAttribute('value'))))).map(toDigits);

/** Compares the bars of a page's trend with the cost of each week that has $1 or more. */
async function expectWeeks(page: Page, of: FleetFacts, filter: Pick<Question, 'model'>): Promise<void> {
  const { rows } = expectUsage(of, { ...ALL, ...filter, groupBy: ['week'] });
  const weeks = rows.map((row) => row as { week: string; own: { cost_usd: number } });
  const shown = await readBars(page);
  for (const { week, own } of weeks.filter((row) => row.own.cost_usd >= 1))
    expect(findBar(shown, week), week).toContain(`$${own.cost_usd.toFixed(2)}`);
}

/** The texts of all bars of the trend. */
async function readBars(page: Page): Promise<string[]> {
  await page.getByRole('group', { name: /^Cost by week/ }).focus();
  await page.keyboard.press('Home');
  const shown: string[] = [];
  for (let bars = await page.locator('.trend .bar').count(); bars > 0; bars -= 1) {
    shown.push((await page.locator('.trend .chart-tooltip').textContent()) ?? '');
    await page.keyboard.press('ArrowRight');
  }
  return shown;
}

function findBar(shown: readonly string[], week: string): string | undefined {
  const monday = new Date(week).toLocaleDateString('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' });
  return shown.find((text) => text.startsWith(`${monday} –`));
}

describe.skipIf(executablePath === undefined)('three clicks from the overview', () => {
  it('tell the spend of last month', async () => {
    const { page, click } = await startReading();
    const bar = page.getByRole('search', { name: 'Time and filters' });
    await click(bar.getByRole('button', { name: 'All time' }));
    await click(page.getByRole('button', { name: 'Last month', exact: true }));
    await expectTotal(page, toCost(facts, OCTOBER) + KAY_OCTOBER);
  });

  it('tell the spend of this month', async () => {
    const { page, click } = await startReading();
    await click(page.getByRole('button', { name: 'All time' }).first());
    await click(page.getByRole('button', { name: 'This month', exact: true }));
    await expectTotal(page, KAY_NOVEMBER);
  });

  it('tell the cost of a repository, its worktrees included', async () => {
    const { page, click, openPage } = await startReading();
    await openPage('Projects');
    await click(page.locator(`.body a[title="${HERON}"]`));
    await expectTotal(page, HERON_COST);
    const folders = page.locator('section[aria-label="Folders"] tbody a');
    expect(await folders.evaluateAll((all) => all.map(({ title }) => title).sort())).toEqual(HERON_FOLDERS.toSorted());
  });

  it('tell the spend of each person', async () => {
    const { page, openPage } = await startReading();
    await openPage('People and machines');
    await page.locator('.body a[title="zoe"]').waitFor();
    const known = Object.fromEntries(PEOPLE.map((person) => [person, toCost(toFactsOf(facts, person), ALL)]));
    expect(await readCosts(page.locator('.body [role=row]'))).toEqual({
      ...known,
      ...{ zoe: toDigits(HERON_COST), kay: KAY_COST },
    });
  });

  it('tell the cost of a person week by week, and the most expensive session', async () => {
    const { page, click, openPage } = await startReading();
    await openPage('People and machines');
    await click(page.locator('.body a[title="bo"]'));
    const of = toFactsOf(facts, 'bo');
    await expectTotal(page, toCost(of, ALL));
    await expectWeeks(page, of, {});
    const [dearest] = expectUsage(of, { ...ALL, groupBy: ['session'] })
      .rows.map((row) => row as { session: string; own: { cost_usd: number | null } })
      .sort((a, b) => (b.own.cost_usd ?? 0) - (a.own.cost_usd ?? 0));
    await click(page.locator('.subject-sessions .body a').first());
    await page.waitForURL(`${dashboard.api.url}/sessions/${dearest?.session}**`);
  });

  it('tell who uses which model', async () => {
    const { page, click, openPage } = await startReading();
    await openPage('People and machines');
    const matrix = page.locator('section[aria-label="Person × Model"]');
    await matrix.waitFor();
    const ofAda = expectUsage(toFactsOf(facts, 'ada'), { ...ALL, groupBy: ['model'] }).rows as {
      model: string | null;
      own: { cost_usd: number | null };
    }[];
    const [{ model, own } = { model: null, own: { cost_usd: null } }] = ofAda
      .filter((row) => row.model !== null && row.own.cost_usd !== null)
      .sort((a, b) => (b.own.cost_usd ?? 0) - (a.own.cost_usd ?? 0));
    const row = matrix.locator('tbody tr').filter({ has: page.locator('th a[title="ada"]') });
    const shown = await row
      .locator('td data')
      .evaluateAll((all) => all.map((each) => Number(each.getAttribute('value'))));
    expect(shown.map(toDigits)).toContain(toDigits(own.cost_usd ?? -1));
    const column = await matrix
      .locator('thead th')
      .evaluateAll((all, title) => all.findIndex((each) => each.querySelector('a')?.title === title), model);
    await click(
      row
        .locator('td')
        .nth(column - 1)
        .locator('a'),
    );
    await page.waitForURL((url) => url.pathname === '/person');
    await expectTotal(page, own.cost_usd ?? -1);
  });

  it('tell the potential waste of a person', async () => {
    const { page, click, openPage } = await startReading();
    await openPage('People and machines');
    await click(page.locator('.body a[title="bo"]'));
    const waste = page.locator('section[aria-label="Potential waste"]');
    await waste.locator('tbody tr').first().waitFor();
    const { kinds } = await dashboard.ask<{ kinds: { kind: string; findings: number; sessions: number }[] }>(
      '/v1/analytics/findings?person=bo&limit=1',
    );
    // The cost of whole sessions is no waste.
    const found = kinds.filter(({ kind, findings }) => findings > 0 && !kind.endsWith('-session'));
    const counts = await waste
      .locator('tbody tr')
      .evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll('data')].slice(0, 2).map((each) => Number(each.value))),
      );
    expect(counts).toEqual(found.map(({ findings, sessions }) => [findings, sessions]));
    await click(waste.getByRole('link').first());
    await page.waitForURL((url) => url.pathname === '/insights' && url.searchParams.get('person') === 'bo');
  });

  it('tell the potential waste of each project and person', async () => {
    const { page, openPage } = await startReading();
    await openPage('Insights');
    const waste = page.getByRole('region', { name: 'Potential waste' });
    const toRow = (title: string) => waste.locator('tr').filter({ has: page.locator(`a[title="${title}"]`) });
    for (const title of [KITE, 'kay']) {
      const values = toRow(title).locator('data');
      await values.first().waitFor();
      expect(await values.evaluateAll((all) => all.map((each) => Number(each.getAttribute('value'))))).toEqual([
        KAY_WASTE,
        KAY_WASTE / KAY_COST,
      ]);
    }
  });

  it('tell the cost of each project', async () => {
    const { page, openPage } = await startReading();
    await openPage('Projects');
    await page.locator(`.body a[title="${KITE}"]`).waitFor();
    const costs = await readCosts(page.locator('.body [role=row]'));
    expect(costs).toMatchObject({ [HERON]: toDigits(HERON_COST), [KITE]: KAY_COST });
  });

  it('tell the course of a project and of a model', async () => {
    const { page, click, openPage } = await startReading();
    await openPage('Projects');
    await click(page.locator(`.body a[title="${KITE}"]`));
    await expectTotal(page, KAY_COST);
    const shown = await readBars(page);
    for (const week of ['2026-10-05', '2026-10-12', '2026-10-19', '2026-10-26'])
      expect(findBar(shown, week), week).toContain('$7.50');
    // Four days until today, and the three responses.
    expect(findBar(shown, '2026-11-02')).toContain(`$${KAY_NOVEMBER.toFixed(2)}`);

    const other = await startReading();
    await other.openPage('Models');
    await other.click(other.page.locator(`.body a[title="${OPUS_MODEL}"]`));
    await expectTotal(other.page, toCost(facts, { ...ALL, model: OPUS_MODEL }));
    await expectWeeks(other.page, facts, { model: OPUS_MODEL });
  });

  it('tell the cost of a team and of a cost centre', async () => {
    for (const [view, name] of [
      ['Teams', 'Harbour'],
      ['Cost centres', 'CC-7'],
    ] as const) {
      const { page, click, openPage } = await startReading();
      await openPage('People and machines');
      await click(page.getByRole('group', { name: 'What to show' }).getByRole('button', { name: view, exact: true }));
      await click(page.locator(`.body a[title="${name}"]`));
      await expectTotal(page, toCost(toFactsOf(facts, 'ada'), ALL) + KAY_COST);
      const people = page.getByRole('region', { name: 'People', exact: true }).locator('tbody a');
      await expect.poll(async () => (await people.allTextContents()).toSorted()).toEqual(['ada', 'kay']);
    }
  });

  it('tell what a person uses the models for', async () => {
    const { page, click, openPage } = await startReading();
    await openPage('People and machines');
    await click(page.locator('.body a[title="kay"]'));
    const kinds = page.getByRole('region', { name: 'Kinds of work' });
    await kinds.locator('tbody tr').first().waitFor();
    const costs = await kinds
      .locator('tbody tr')
      .evaluateAll((rows) =>
        rows.map((row) => [row.querySelector('a')?.title, Number([...row.querySelectorAll('data')].at(1)?.value)]),
      );
    expect(Object.fromEntries(costs)).toEqual({ coding: KAY_COST - 3 * 1.5, testing: 3 * 1.5 });
    await click(kinds.getByRole('link', { name: 'coding' }));
    await page.waitForURL((url) => url.pathname === '/kind_of_work' && url.searchParams.get('person') === 'kay');
    await expectTotal(page, KAY_COST - 3 * 1.5);
  });

  it('tell where the month will end, for a person', async () => {
    const { page, click } = await startReading();
    const bar = page.getByRole('search', { name: 'Time and filters' });
    await click(bar.getByRole('button', { name: 'Person' }));
    await click(page.getByRole('checkbox', { name: 'kay' }));
    const month = page.locator('.track-figures');
    const read = (label: string) =>
      month
        .locator('div')
        .filter({ has: page.locator('dt', { hasText: label }) })
        .locator('dd data')
        .first()
        .getAttribute('value')
        .then((value) => toDigits(Number(value)));
    await expect.poll(() => read('Forecast')).toBe(toDigits(KAY_FORECAST));
    expect(await read('Month to date')).toBe(KAY_NOVEMBER);
    expect(await read('Last month')).toBe(KAY_OCTOBER);
    expect(await read('Today')).toBe(1.5);
    expect(await read('Potential waste')).toBe(KAY_WASTE);
  });

  it('tell how much of a budget is spent, and what it has warned of', async () => {
    const { page, click, openPage } = await startReading();
    const use = page.getByRole('region', { name: 'Budgets' }).locator('.budget-use').first();
    await use.waitFor();
    const [spent, amount, share, forecast] = await readNumbers(use);
    expect([spent, amount, share]).toEqual([KAY_NOVEMBER, KAY_BUDGET, KAY_NOVEMBER / KAY_BUDGET]);
    expect(forecast).toBe(KAY_FORECAST);
    await openPage('Admin');
    await click(page.getByRole('button', { name: 'Budgets', exact: true }));
    await click(page.getByRole('button', { name: 'History Of kay' }));
    const rows = page.getByRole('dialog').locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(3);
    expect((await rows.allTextContents()).join()).toMatch(/80.*50|50.*80/s);
  });

  it('tell how much of a plan is used', async () => {
    const { page, click, openPage } = await startReading();
    const plans = page.getByRole('region', { name: 'Plans' });
    const use = plans.locator('.budget-use p').first();
    await use.waitFor();
    const used = [KAY_NOVEMBER, KAY_PLAN, KAY_NOVEMBER / KAY_PLAN, KAY_FORECAST, KAY_OCTOBER];
    expect(await readNumbers(use)).toEqual(used);
    await openPage('People and machines');
    await click(page.locator('.body a[title="kay"]'));
    await page.waitForURL((url) => url.pathname === '/person');
    await use.waitFor();
    expect(await readNumbers(use)).toEqual(used);
  });

  it('tell why a session was expensive', async () => {
    const [dearest] = [
      ...facts.sessions.map(({ id, responses }) => ({
        id,
        costs: responses.map(({ costs: units }) => sumUnits(units) / 1e10),
      })),
      ...KAY.map(({ costs }, index) => ({ id: toKaysId(index), costs })),
    ].toSorted((a, b) => sum(b.costs) - sum(a.costs));
    if (dearest === undefined) throw new Error('The fleet has no session');
    const { page, click } = await startReading();
    const top = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Most expensive sessions' }) });
    await click(top.locator('tbody a').first());
    await page.waitForURL(`${dashboard.api.url}/sessions/${dearest.id}**`);
    await click(page.getByText('Where the cost comes from'));
    const turns = page.getByRole('table', { name: 'Most expensive turns' });
    await turns.waitFor();
    expect((await readNumbers(turns.locator('tbody tr').first())).at(-1)).toBe(toDigits(Math.max(...dearest.costs)));
    const parts = page.getByRole('table', { name: 'Cost by token class and model, at list prices' });
    const shown = await parts
      .locator('tbody tr')
      .evaluateAll((rows) => rows.map((row) => Number([...row.querySelectorAll('data')].at(-1)?.value)));
    expect(toDigits(sum(shown))).toBe(toDigits(sum(dearest.costs)));
    await click(turns.getByRole('link').first());
    await page.locator('.turn[data-selected=true], [data-selected=true]').first().waitFor();
  });

  it('save the figures by person as a file, for a report', async () => {
    const { page, click, openPage } = await startReading();
    await openPage('People and machines');
    await click(page.locator('button:has(+ [aria-label="Export People"])'));
    const saved = page.waitForEvent('download');
    await click(page.getByRole('button', { name: 'CSV', exact: true }));
    expect((await saved).suggestedFilename()).toBe('people.csv');
  });

  it('offer a link of these figures to someone without a key', async () => {
    const { page, click, openPage } = await startReading();
    await openPage('People and machines');
    await click(page.locator('button:has(+ [aria-label="Export People"])'));
    await click(page.getByRole('button', { name: 'Share this view …' }));
    await page.getByRole('dialog').getByRole('button', { name: 'Create link' }).waitFor();
  });

  it('find a session by words of it', async () => {
    const { page } = await startReading();
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Search or go to' }).fill('prompt 2 of heron-1');
    await page
      .getByRole('option', { name: /heron-1/ })
      .first()
      .waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname === '/search');
    await page.locator('.found mark').first().waitFor();
  });
});
