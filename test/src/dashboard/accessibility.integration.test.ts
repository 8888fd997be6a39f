import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type LiveRequestUnderWay, newTestStreamId, openLive } from '@recount/api/testing/live-client';
import { toStreamLines } from '@recount/api/testing/stream-lines';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { SESSION, shareSession, uploadSamples } from './samples.ts';
import { DESKTOP, PHONE } from './shared-browser.ts';
import { readSignedInUrl } from './sign-in.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';
import { createCoverage, VISITS, visit } from './visits.ts';

const executablePath = findBrowser();

const RUNNING = '66666666-2222-4333-8444-555555555555';
/** Up to a call without a result yet. */
const RUNNING_LINES = 8;

let dashboard: Dashboard;
let live: LiveRequestUnderWay;
let axe: string;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const { api } = dashboard;
  await uploadSamples(api);
  live = openLive({ url: api.url, key: api.keys.ingest }, RUNNING, { 'recount-stream': newTestStreamId() });
  await live.write(toStreamLines(RUNNING).slice(0, RUNNING_LINES).join(''));
});
afterEach(() => dashboard?.closePages());
afterAll(async () => {
  live?.destroy();
  await dashboard?.close();
});

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
/** Rules that a narrow window may affect. The others have been checked in a wide one. */
const RULES_OF_LAYOUT = ['target-size', 'scrollable-region-focusable', 'button-name', 'link-name', 'label', 'tabindex'];

const OPEN_PAGES = {
  ...VISITS,
  [`/sessions/${RUNNING}`]: '.live .tool',
  '/no-such-page': '.empty, main a',
};

const isNight = process.env.RECOUNT_TEST_STAGE === 'night';
/** Views of a page consist of the same elements in the same colours. By day only one of each is looked at again. */
const isFirstOf = (path: string, paths: readonly string[]): boolean =>
  paths.find((other) => other.split('?', 1)[0] === path.split('?', 1)[0]) === path;

async function expectNoFault(page: Page, rules: readonly string[], place: string): Promise<void> {
  // All rules are still checked; this only stops axe from collecting selectors and sources of elements without
  // faults.
  const options = { runOnly: rules, resultTypes: ['violations'] };
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as {
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary}`);
  expect(found, place).toEqual([]);
}

async function expectNoOverflow(page: Page, place: string): Promise<void> {
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  expect(overflow, `${place} is wider than its window`).toBeLessThanOrEqual(0);
}

/** In a wide window, on the same page in a narrow one, and in the dark. */
async function expectUsable(page: Page, path: string, isWhole: boolean): Promise<void> {
  await page.evaluate(`window.axe === undefined && (() => { ${axe} })()`);
  await expectNoFault(page, WCAG, path);
  await expectNoOverflow(page, path);
  if (isWhole) {
    // The theme only changes colours.
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectNoFault(page, ['color-contrast'], `${path}, dark`);
    await page.emulateMedia({ colorScheme: 'light' });
  }
  await page.setViewportSize(PHONE);
  await expectNoOverflow(page, `${path}, narrow`);
  if (isWhole) await expectNoFault(page, RULES_OF_LAYOUT, `${path}, narrow`);
  await page.setViewportSize(DESKTOP);
}

describe.skipIf(executablePath === undefined)('accessibility of the pages', () => {
  it('has no violations that axe finds, in wide and narrow windows, light and dark', async () => {
    const page = await dashboard.open('/');
    const coverage = createCoverage();
    const paths = Object.keys(OPEN_PAGES);
    for (const [path, ready] of Object.entries(OPEN_PAGES)) {
      await visit(dashboard, page, path, ready);
      await expectUsable(page, path, isNight || isFirstOf(path, paths));
      if (path !== '/no-such-page') await coverage.note(page);
    }
    coverage.expectComplete();
    const { path: shared } = await shareSession(dashboard.api, SESSION);
    const document = `${await readSignedInUrl(page)}/v1/sessions/${SESSION}/document?download=false`;
    for (const path of [dashboard.api.url + shared, document]) {
      await page.goto(path);
      await page.locator('article').first().waitFor();
      await expectUsable(page, path, true);
    }
  });
});
