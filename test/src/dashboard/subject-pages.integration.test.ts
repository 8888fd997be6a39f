import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectTools } from '../fleet/expected-tools.ts';
import { expectUsage, type Report } from '../fleet/expected-usage.ts';
import type { FleetFacts } from '../fleet/facts.ts';
import { generateFleet } from '../fleet/generate-fleet.ts';
import type { Key, Question } from '../fleet/question.ts';
import { findBrowser } from './browser.ts';
import { CALLS, DURATIONS, OUTPUT, PEOPLE, toFactsOf, uploadFleet, usageColumns } from './fleet-breakdowns.ts';
import { createLocaleText } from './locale-text.ts';
import { type Columns, expectFigures, FIGURE, readFigures, type ShownFigure } from './shown-figures.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';
import { visit } from './visits.ts';

const executablePath = findBrowser();
const { files, facts } = generateFleet(20_261_129);
const TEXT = createLocaleText('en-US');
/** High enough for all rows of a table to be in the document. */
const VIEWPORT = { width: 1440, height: 4000 };
const [MODEL = ''] = facts.responses.flatMap(({ model }) => model ?? []);
const TOOL = 'Bash';

type Time = readonly [timeZone: string, query: string, fromMs: number | undefined, toMs: number | undefined];
const toTime = (timeZone: string, day: string, from: string, to: string): Time => [
  timeZone,
  `from=${day}&to=${day}`,
  Date.parse(from),
  Date.parse(to),
];
/** Berlin's is a day when clocks change. */
const TIMES: readonly Time[] = [
  ['UTC', 'period=all', undefined, undefined],
  toTime('Europe/Berlin', '2026-10-25', '2026-10-25T00:00:00+02:00', '2026-10-26T00:00:00+01:00'),
  toTime('America/Los_Angeles', '2026-10-24', '2026-10-24T00:00:00-07:00', '2026-10-25T00:00:00-07:00'),
  toTime('Asia/Kolkata', '2026-10-25', '2026-10-25T00:00:00+05:30', '2026-10-26T00:00:00+05:30'),
  toTime('Pacific/Auckland', '2026-10-26', '2026-10-26T00:00:00+13:00', '2026-10-27T00:00:00+13:00'),
];

/** A page, and the facts that it should show. */
interface SubjectUnderTest {
  name: string;
  value: string;
  ask: (question: Question) => Report;
  columns: Columns;
  /** The figure of its parts, which is also the one of its sessions. */
  main: Columns;
}

const USAGE: Columns = usageColumns('own.');
const COST: Columns = [['own.cost_usd', 'money']];
const ofUsage = (name: string, value: string, ask: SubjectUnderTest['ask']): SubjectUnderTest => ({
  ...{ name, value, ask },
  columns: USAGE,
  main: COST,
});
const ofFacts = (of: FleetFacts) => (question: Question) => expectUsage(of, question);
const CALLED = { ...facts, toolCalls: facts.toolCalls.filter(({ name }) => name === TOOL) };

const SUBJECTS: readonly SubjectUnderTest[] = [
  ofUsage('person', 'ada', ofFacts(toFactsOf(facts, 'ada'))),
  ofUsage('machine', 'of bo', ofFacts(toFactsOf(facts, 'bo'))),
  ofUsage('model', MODEL, (question) => expectUsage(facts, { ...question, model: MODEL })),
  ofUsage('project', '/srv/beta', (question) => expectUsage(facts, { ...question, project: '/srv/beta' })),
  ofUsage('agent', 'claude-code', ofFacts(facts)),
  {
    ...{ name: 'tool', value: TOOL, columns: [...CALLS, ...DURATIONS, ...OUTPUT], main: [['calls', 'count']] },
    ask: (question) => expectTools(CALLED, question),
  },
];

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  await uploadFleet(dashboard.api, files);
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

const toPath = ({ name, value }: SubjectUnderTest, query: string): string =>
  `/${name}?${name}=${encodeURIComponent(value)}&${query}`;

type Named = Record<string, ShownFigure[]>;

/** Rows of a table with their figures, by the title of their links or the session that they lead to. */
async function readNamed(page: Page, rows: string, name: string): Promise<Named> {
  return Object.fromEntries(
    (await page.evaluate(`[...document.querySelectorAll(${JSON.stringify(rows)})].map((row) => [
      ${name}, [...row.querySelectorAll('.figure')].map(${FIGURE})])`)) as [string, ShownFigure[]][],
  );
}

/** Compares rows that a page shows with the facts, by name. */
function expectRows(shown: Named, rows: readonly object[], key: string, columns: Columns, place: string): void {
  const toName = (row: object): string => (row as Record<string, string | null>)[key] ?? 'unknown';
  expect(Object.keys(shown).sort(), place).toEqual(rows.map(toName).sort());
  for (const row of rows) expectFigures(shown[toName(row)] ?? [], row, columns, TEXT, `${toName(row)} of ${place}`);
}

async function expectSubject(page: Page, subject: SubjectUnderTest, [timeZone, query, fromMs, toMs]: Time) {
  const place = toPath(subject, query);
  const { ask, columns, main } = subject;
  const time = { timeZone, ...(fromMs !== undefined && { fromMs }), ...(toMs !== undefined && { toMs }) };
  const askBy = (...groupBy: readonly Key[]) => ask({ ...time, groupBy });
  await visit(dashboard, page, place, 'main h1');
  // A time when the subject has no figures is without rows.
  const { rows } = askBy('day');
  if (rows.length === 0) {
    await page.getByText('No activity in this period').waitFor();
    return;
  }
  await page.locator('.subject-sessions').waitFor();
  const { totals } = askBy();
  expectFigures(await readFigures(page, '.totals .figure'), totals, columns, TEXT, `totals of ${place}`);
  for (const [name, title] of [
    ['model', 'Models'],
    ['project', 'Folders'],
  ] as const) {
    if (name === subject.name) continue;
    const shown = await readNamed(
      page,
      `section[aria-label="${title}"] tbody tr`,
      "row.querySelector('a')?.title ?? 'unknown'",
    );
    expectRows(shown, askBy(name).rows, name, [['sessions', 'count'], ...main], `${title} of ${place}`);
  }
  const sessions = await readNamed(
    page,
    '.subject-sessions .body [role=row]',
    "decodeURIComponent(new URL(row.querySelector('a').href).pathname.split('/').pop())",
  );
  const [[mainPath = ''] = []] = main;
  const ofSession = [...main, ...columns.filter(([path]) => path !== 'sessions' && path !== mainPath)];
  expectRows(sessions, askBy('session').rows, 'session', ofSession, `sessions of ${place}`);
  expectFigures(
    await readFigures(page, '.subject-sessions .total .figure'),
    totals,
    ofSession,
    TEXT,
    `the total row of ${place}`,
  );
}

describe.skipIf(executablePath === undefined)('the page of one person, machine, model, folder, agent or tool', () => {
  it.each(TIMES)('shows the known figures of the fleet in %s at %s', async (...time) => {
    const page = await dashboard.open('/uploads', { timezoneId: time[0], locale: 'en-US', viewport: VIEWPORT });
    for (const subject of SUBJECTS) await expectSubject(page, subject, time);
  });

  it('shows people by model with the known cost of each, and of both together', async () => {
    const page = await dashboard.open('/agent?agent=claude-code&period=all', { locale: 'en-US', viewport: VIEWPORT });
    const matrix = page.locator('section[aria-label="Person × Model"]');
    await matrix.waitFor();
    for (const person of PEOPLE) {
      const { rows, totals } = expectUsage(toFactsOf(facts, person), { timeZone: 'UTC', groupBy: ['model'] });
      const row = matrix.locator('tbody tr').filter({ has: page.locator(`th a[title="${person}"]`) });
      const shown = await row
        .locator('data')
        .evaluateAll((all) => all.map((each) => Number(each.getAttribute('value'))));
      const toCost = (figures: object) => (figures as { own: { cost_usd: number | null } }).own.cost_usd;
      const costs = rows.flatMap((each) => toCost(each) ?? []);
      const round = (values: readonly number[]) => values.map((value) => Number(value.toPrecision(12)));
      expect(round(shown.toSorted()), person).toEqual(round([...costs, toCost(totals) ?? 0].toSorted()));
    }
  });

  it('is reached from the rows of a table, leads on to narrower pages, and at last to a session and its raw line', async () => {
    const page = await dashboard.open('/people?period=all', { viewport: VIEWPORT });
    await page.locator('.body a[title="ada"]').click();
    await page.waitForURL((url) => url.pathname === '/person' && url.searchParams.get('person') === 'ada');
    await page.locator(`section[aria-label="Models"] a[title="${MODEL}"]`).click();
    await page.waitForURL((url) => url.pathname === '/model');
    const { searchParams } = new URL(page.url());
    expect(Object.fromEntries(searchParams)).toEqual({ person: 'ada', model: MODEL, period: 'all' });
    const expected = expectUsage(toFactsOf(facts, 'ada'), { timeZone: 'UTC', groupBy: [], model: MODEL });
    await expect
      .poll(() => readFigures(page, '.totals .figure').then((figures) => figures[1]?.value))
      .toBe((expected.totals as { sessions: number }).sessions);
    await page.locator('.subject-sessions .body a').first().click();
    await page.waitForURL(/\/sessions\/10000000-/);
    await page.locator('.turn').first().getByRole('button', { name: 'Raw' }).first().click();
    await page.getByRole('dialog').getByText('sessionId').first().waitFor();
  });

  it('asks for its figures once, however many parts they have', async () => {
    const page = await dashboard.open('/uploads');
    const asked: string[] = [];
    page.on('request', (request) => {
      const [, path] = /\/v1\/(analytics\/\w+)\?/.exec(request.url()) ?? [];
      if (path !== undefined) asked.push(path);
    });
    // Its last part, whose code is loaded on demand.
    const waste = '[aria-label="Potential waste"] :is(table, p)';
    await visit(dashboard, page, '/person?person=ada&period=all', waste);
    expect(asked.sort()).toEqual(['analytics/findings', 'analytics/plans', 'analytics/tools', 'analytics/usage']);
    asked.length = 0;
    await visit(dashboard, page, `/tool?tool=${TOOL}&period=all`, '.subject-sessions');
    expect(asked).toEqual(['analytics/tools']);
  });

  it('is found by a part of its name in the command palette', async () => {
    const page = await dashboard.open('/people?period=all');
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Search or go to' }).fill('srv/be');
    await page
      .getByRole('option', { name: /folder$/ })
      .first()
      .click();
    await page.waitForURL((url) => url.pathname === '/project');
    expect(new URL(page.url()).searchParams.get('project')).toBe('/srv/beta');
    expect(new URL(page.url()).searchParams.get('period')).toBe('all');
  });

  it('says so if nothing has the name, or none is chosen', async () => {
    const page = await dashboard.open('/model?model=xyzzy&period=all');
    await page.getByText('No model matches "xyzzy"').waitFor();
    await page.goto(`${dashboard.api.url}/person`);
    await page.getByText('No person is chosen').waitFor();
  });
});
