import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { LateAnswers, readShifts } from './late-answers.ts';
import { uploadSamples } from './samples.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';
import { VISITS } from './visits.ts';

const executablePath = findBrowser();
/** Half of the cumulative layout shift that Chrome's guide calls good. */
const MAX_SHIFT = 0.05;
const isNight = process.env.RECOUNT_TEST_STAGE === 'night';
const toPage = (path: string): string => path.split('?', 1)[0] ?? '';
/** By day one view of each page. */
const PATHS = Object.keys(VISITS).filter(
  (path, index, paths) => isNight || paths.findIndex((other) => toPage(other) === toPage(path)) === index,
);

/** Its parts are shown together. */
const PERSON = Object.keys(VISITS).find((path) => path.startsWith('/person?')) ?? '/person';

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  await uploadSamples(dashboard.api);
  const body = JSON.stringify({ name: 'all', amount: 600 });
  const headers = { 'content-type': 'application/json' };
  const { status } = await dashboard.api.fetch('/v1/budgets', { method: 'POST', headers, body });
  expect(status).toBe(201);
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

/** The top of an element, and whether it has the focus. */
const readPlace = (page: Page, selector: string): Promise<{ top: number; hasFocus: boolean }> =>
  page.locator(selector).evaluate((element) => ({
    top: element.getBoundingClientRect().top,
    hasFocus: element === element.ownerDocument.activeElement,
  }));

describe.skipIf(executablePath === undefined)('a page whose answers come late', () => {
  for (const width of [1440, 390]) {
    it(`moves nothing that it has shown, in a window of ${width} pixels`, async () => {
      const page = await dashboard.open('/uploads', { viewport: { width, height: 900 } });
      const late = await LateAnswers.of(page);
      for (const path of PATHS) {
        await late.open(dashboard.api.url + path);
        await late.answer();
        await expect.poll(() => page.locator('h1').count(), { message: path }).toBeGreaterThan(0);
        const { sum, moved, hidden } = await readShifts(page);
        expect(sum, `${path}: ${moved.join('; ')}`).toBeLessThanOrEqual(MAX_SHIFT);
        expect(hidden, path).toEqual([]);
      }
    });
  }

  it('keeps an open filter, its text and the focus in it', async () => {
    const page = await dashboard.open('/uploads');
    const late = await LateAnswers.of(page);
    for (const path of ['/?period=all', '/people?period=all', '/insights?period=all', '/sessions']) {
      await late.open(dashboard.api.url + path);
      const filter = page.getByRole('button', { name: 'Agent', exact: true });
      await late.answer(() => filter.isVisible());
      await filter.click();
      const field = page.getByRole('searchbox', { name: 'Search agent' });
      await field.fill('cla');
      const before = await readPlace(page, '[aria-label="Search agent"]');
      await late.answer();
      await page.getByRole('group', { name: 'Agent', exact: true }).getByText('claude-code').waitFor();
      expect(await field.inputValue(), path).toBe('cla');
      expect(await readPlace(page, '[aria-label="Search agent"]'), path).toEqual(before);
    }
  });

  it('keeps an open menu of exports in its place', async () => {
    const page = await dashboard.open('/uploads');
    const late = await LateAnswers.of(page);
    for (const path of ['/?period=all', '/people?period=all', '/insights?period=all', '/sessions', PERSON]) {
      await late.open(dashboard.api.url + path);
      const button = page.getByRole('button', { name: 'Export' }).first();
      await late.answer(async () => (await button.isVisible()) && (await button.isEnabled()));
      const box = await button.boundingBox();
      await button.click();
      await late.answer();
      await page.getByRole('button', { name: /CSV/ }).first().waitFor();
      expect(await button.boundingBox(), path).toEqual(box);
      expect(await button.getAttribute('aria-expanded'), path).toBe('true');
    }
  });
});
