import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectUsage } from '../fleet/expected-usage.ts';
import { type SessionFact, sumUnits } from '../fleet/facts.ts';
import { generateFleet } from '../fleet/generate-fleet.ts';
import { type Key, type Question, sum } from '../fleet/question.ts';
import { findBrowser } from './browser.ts';
import { type BreakdownUnderTest, DAILY_BREAKDOWNS, OTHER_BREAKDOWNS, uploadFleet } from './fleet-breakdowns.ts';
import { createLocaleText, type LocaleText, withPlainSpaces } from './locale-text.ts';
import {
  type Columns,
  expectFigures,
  FIGURE,
  readFigures,
  readRows,
  type ShownFigure,
  toShown,
} from './shown-figures.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';
import { visit } from './visits.ts';

const executablePath = findBrowser();
const { files, facts } = generateFleet(20_261_025);
/** High enough for all rows of a table to be in the document. */
const VIEWPORT = { width: 1280, height: 4000 };
const UNITS_PER_USD = 1e10;

/** A viewer, and one of their days with its start and end. */
type Viewer = readonly [timeZone: string, locale: string, day: string, from: string, to: string];
/** Berlin's days are those when clocks change. */
const VIEWERS: readonly Viewer[] = [
  ['UTC', 'en-US', '2026-10-25', '2026-10-25T00:00:00Z', '2026-10-26T00:00:00Z'],
  ['Europe/Berlin', 'de-DE', '2026-10-25', '2026-10-25T00:00:00+02:00', '2026-10-26T00:00:00+01:00'],
  ['Europe/Berlin', 'de-DE', '2026-03-29', '2026-03-29T00:00:00+01:00', '2026-03-30T00:00:00+02:00'],
  ['America/Los_Angeles', 'en-US', '2026-10-24', '2026-10-24T00:00:00-07:00', '2026-10-25T00:00:00-07:00'],
  ['Asia/Kolkata', 'en-IN', '2026-10-25', '2026-10-25T00:00:00+05:30', '2026-10-26T00:00:00+05:30'],
  ['Pacific/Auckland', 'en-NZ', '2026-10-26', '2026-10-26T00:00:00+13:00', '2026-10-27T00:00:00+13:00'],
];

/**
 * Each for two viewers by day, the first and one other. The zone is a parameter of every report alike, and
 * test/src/fleet asks each in four. At night all for all.
 */
const selectBreakdowns = ([zone, , date]: Viewer): readonly BreakdownUnderTest[] => {
  const number = VIEWERS.findIndex(([timeZone, , day]) => timeZone === zone && day === date);
  if (process.env.RECOUNT_TEST_STAGE === 'night' || number === 0) return DAILY_BREAKDOWNS;
  return DAILY_BREAKDOWNS.filter((_, index) => index % (VIEWERS.length - 1) === number - 1);
};

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  await uploadFleet(dashboard.api, files);
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

/** Rows that share a name, as several projects do, in one order. */
const toRowKey = (name: string | null, figures: readonly ShownFigure[]): string =>
  JSON.stringify([name, ...figures.map(({ value }) => (value === null ? null : Number(value.toPrecision(12))))]);

async function expectBreakdown(
  page: Page,
  { path, name, columns, totals, expected }: BreakdownUnderTest,
  query: string,
  question: Question,
  text: LocaleText,
): Promise<void> {
  const place = `${path}${path.includes('?') ? '&' : '?'}${query}`;
  const report = expected(facts, question);
  await visit(dashboard, page, place, 'main h1');
  if (report.rows.length === 0) {
    await page.getByText('No activity in this period').waitFor();
    return;
  }
  await expect.poll(() => page.locator('.body [role=row]').count(), { message: place }).toBe(report.rows.length);
  expectFigures(await readFigures(page, '.totals .figure'), report.totals, totals, text, `totals of ${place}`);
  const shown = await readRows(page);
  const sortedShown = shown.toSorted((a, b) => (toRowKey(a.name, a.figures) < toRowKey(b.name, b.figures) ? -1 : 1));
  const sortedRows = report.rows
    .map((row) => {
      const rowName = (row as Record<string, string | null>)[name] ?? null;
      return { row, rowName, key: toRowKey(rowName, toShown(row, columns, text)) };
    })
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  expect(
    sortedShown.map((row) => row.name),
    place,
  ).toEqual(sortedRows.map(({ rowName }) => rowName));
  for (const [index, { row, rowName }] of sortedRows.entries())
    expectFigures(sortedShown[index]?.figures ?? [], row, columns, text, `${rowName} of ${place}`);
}

const OVERVIEW: Columns = [
  ['own.cost_usd', 'money'],
  ['sessions', 'count'],
  ['own.responses', 'count'],
  ['own.total_tokens', 'tokens'],
  ['own.tokens_out', 'tokens'],
  ['own.cache_hit_ratio', 'percent'],
];

/** Heights of the bars, in their order, in parts of their sum. */
async function readBars(page: Page): Promise<number[]> {
  const heights = (await page.evaluate(`[...document.querySelectorAll('.usage-chart .bar')].map((bar) =>
    [...bar.querySelectorAll('rect:not(.bar-slot)')].reduce((sum, rect) => sum + Number(rect.getAttribute('height')), 0))`)) as number[];
  const all = sum(heights, (height) => height);
  return heights.map((height) => Number((height / all).toFixed(9)));
}

function toParts(values: readonly number[]): number[] {
  const all = sum(values, (value) => value);
  return values.map((value) => Number((value / all).toFixed(9)));
}

function listDays(rows: readonly { day: string }[]): string[] {
  const days = rows.map(({ day }) => day).sort();
  const last = days.at(-1) ?? '';
  const all: string[] = [];
  for (let at = Date.parse(days[0] ?? ''); at <= Date.parse(last); at += 86_400_000)
    all.push(new Date(at).toISOString().slice(0, 10));
  return all;
}

type UsageRow = { own: { cost_usd: number | null }; day: string; hour: string };

const expectUsageBy = (question: Omit<Question, 'groupBy'>, ...groupBy: readonly Key[]) =>
  expectUsage(facts, { ...question, groupBy }) as unknown as { rows: UsageRow[]; totals: object };
const toCost = (row: UsageRow | undefined): number => row?.own.cost_usd ?? 0;

async function expectOverview(page: Page, timeZone: string, text: LocaleText): Promise<void> {
  await visit(dashboard, page, '/?period=all&step=day', '.legend li');
  const { rows, totals } = expectUsageBy({ timeZone }, 'day');
  expectFigures(await readFigures(page, '.overview > .totals .figure'), totals, OVERVIEW, text, 'the overview');
  const byDay = new Map(rows.map((row) => [row.day, row]));
  const days = listDays(rows);
  const expectedBars = toParts(days.map((day) => toCost(byDay.get(day))));
  await expect.poll(() => readBars(page)).toEqual(expectedBars);
  // The day to read (the most expensive one).
  const [dearest] = rows.toSorted((a, b) => toCost(b) - toCost(a));
  const chart = page.locator('.usage-chart svg');
  const { width = 0, height = 0 } = (await chart.boundingBox()) ?? {};
  const index = days.indexOf(dearest?.day ?? '');
  await chart.hover({ position: { x: ((index + 0.5) / days.length) * width, y: height / 2 } });
  await expect
    .poll(async () => withPlainSpaces((await page.locator('.chart-tooltip').textContent()) ?? ''))
    .toContain(text.money(toCost(dearest)));
  const ofDay = expectUsageBy({ timeZone }, 'day', 'model').rows.filter(({ day }) => day === dearest?.day);
  const parts = (await page.evaluate(
    "[...document.querySelectorAll('.chart-tooltip [data-value]')].map((part) => Number(part.dataset.value))",
  )) as number[];
  const costs = ofDay.flatMap(({ own }) => (own.cost_usd === null || own.cost_usd === 0 ? [] : [own.cost_usd]));
  const toKnown = (values: readonly number[]): number[] => values.map((value) => Number(value.toPrecision(12))).sort();
  expect(toKnown(parts)).toEqual(toKnown(costs));
}

const SESSION_COLUMNS = 'messages,tools,out,cost,duration,last';

const toSessionCost = ({ responses }: SessionFact): number | null =>
  responses.length > 0 && responses.every(({ costs }) => costs === null)
    ? null
    : sum(responses, ({ costs }) => sumUnits(costs)) / UNITS_PER_USD;

/** The sessions that were active on the day, with the time that clocks of the viewer showed at the end of each. */
async function expectSessionsTable(
  page: Page,
  [timeZone, locale, day, from, to]: Viewer,
  text: LocaleText,
): Promise<void> {
  const query = `subagents=include&from=${day}&to=${day}&columns=${SESSION_COLUMNS}&sort=total_messages`;
  await visit(dashboard, page, `/sessions?${query}`, 'main h1');
  const active = facts.sessions.filter(({ firstMs, lastMs }) => lastMs >= Date.parse(from) && firstMs < Date.parse(to));
  await expect.poll(() => page.locator('.body [role=row]').count()).toBe(active.length);
  const shown = (await page.evaluate(`[...document.querySelectorAll('.body [role=row]')].map((row) => ({
    id: decodeURIComponent(new URL(row.querySelector('a').href).pathname.split('/').pop()),
    last: { value: row.querySelector('time').dateTime, text: row.querySelector('time').textContent },
    figures: [...row.querySelectorAll('.figure')].map(${FIGURE}),
  }))`)) as { id: string; last: { value: string; text: string }; figures: ShownFigure[] }[];
  const columns: Columns = [
    ['duration_ms'],
    ['messages', 'count'],
    ['tools', 'count'],
    ['tokens_out', 'tokens'],
    ['cost_usd', 'money'],
  ];
  expect(shown.map(({ id }) => id).sort()).toEqual(active.map(({ id }) => id).sort());
  for (const session of active) {
    const row = shown.find(({ id }) => id === session.id);
    const { firstMs, lastMs, messages, responses, toolUseCount } = session;
    const figures = (row?.figures ?? []).map(({ value, text: read }) => ({ value, text: withPlainSpaces(read) }));
    expectFigures(
      figures,
      {
        duration_ms: lastMs - firstMs,
        messages: messages.length,
        tools: toolUseCount,
        tokens_out: sum(responses, ({ usage }) => usage.output),
        cost_usd: toSessionCost(session),
      },
      columns,
      text,
      `session ${session.id}`,
    );
    expect(Date.parse(row?.last.value ?? ''), session.id).toBe(lastMs);
    // In some words of the viewer's language, the day and the minutes of the viewer's clocks.
    const clock = new Intl.DateTimeFormat(locale, { timeZone, hour: '2-digit', minute: '2-digit' }).format(lastMs);
    const date = new Intl.DateTimeFormat(locale, { timeZone, day: 'numeric' }).format(lastMs);
    expect(withPlainSpaces(row?.last.text ?? ''), session.id).toContain(withPlainSpaces(clock));
    expect(row?.last.text, session.id).toMatch(new RegExp(`\\b${date.replace(/\D/g, '')}\\b`));
  }
}

describe.skipIf(executablePath === undefined)('figures of the generated fleet in a browser', () => {
  it.each(VIEWERS)('equal the known figures of the fleet, in %s and %s on %s', async (...viewer) => {
    const [timeZone, locale, day, from, to] = viewer;
    const text = createLocaleText(locale);
    const page = await dashboard.open('/uploads', { timezoneId: timeZone, locale, viewport: VIEWPORT });
    await expectOverview(page, timeZone, text);
    const question: Question = { timeZone, groupBy: [], fromMs: Date.parse(from), toMs: Date.parse(to) };
    await visit(dashboard, page, `/?from=${day}&to=${day}&step=hour`, '.legend li');
    const { rows, totals } = expectUsageBy(question, 'hour');
    expectFigures(await readFigures(page, '.overview > .totals .figure'), totals, OVERVIEW, text, day);
    const byHour = rows.toSorted((a, b) => Date.parse(a.hour) - Date.parse(b.hour));
    await expect.poll(() => readBars(page)).toEqual(toParts(byHour.map(toCost)));
    for (const breakdown of selectBreakdowns(viewer))
      await expectBreakdown(page, breakdown, `from=${day}&to=${day}`, question, text);
    await expectSessionsTable(page, viewer, text);
  });

  it('equal the known figures of the fleet, for all time', async () => {
    const text = createLocaleText('en-US');
    const page = await dashboard.open('/uploads', { timezoneId: 'UTC', locale: 'en-US', viewport: VIEWPORT });
    for (const breakdown of [...DAILY_BREAKDOWNS, ...OTHER_BREAKDOWNS])
      await expectBreakdown(page, breakdown, 'period=all', { timeZone: 'UTC', groupBy: [] }, text);
  });
});
