import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type LiveRequestUnderWay, newTestStreamId, openLive } from '@recount/api/testing/live-client';
import { toStreamLines } from '@recount/api/testing/stream-lines';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { SESSION, uploadSamples } from './samples.ts';
import { type Dashboard, DESKTOP, PHONE, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();

const RUNNING = '66666666-2222-4333-8444-555555555555';
/** As far as a call that has no result yet. */
const RUNNING_LINES = 8;

let dashboard: Dashboard;
let live: LiveRequestUnderWay;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard(executablePath);
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

/** By its path, what a page has when it is complete, or what is done to get it there. */
const READY: Readonly<Record<string, string | ((page: Page) => Promise<void>)>> = {
  '/': '.legend li',
  '/?period=all&metric=tokens&by=project': '.legend li',
  '/sessions?subagents=include': '.body [role=row]',
  [`/sessions/${SESSION}`]: async (page) => {
    await page.locator('.turn').first().waitFor();
    await page.locator('.session-more summary', { hasText: 'changed file' }).click();
  },
  [`/sessions/${RUNNING}`]: '.live .tool',
  '/tools?period=all': 'main h1',
  '/files?period=all': 'main h1',
  '/projects?period=all': 'main h1',
  '/models?period=all': 'main h1',
  '/subagents?period=all': 'main h1',
  '/people?period=all': 'main h1',
  '/insights?period=all': '.finding-kind',
  '/insights?period=all&kind=large-result': '.finding-kind',
  '/uploads': 'main h1',
  '/uploads?view=issues': 'main h1',
  '/search?q=rounding': '.found mark',
  '/admin': '.plain-table tbody tr',
  '/admin?view=prices': async (page) => {
    const override = { model: 'claude-*', inputUsdPerMillion: 3, outputUsdPerMillion: 15 };
    await page.getByLabel('Overrides of the list prices').fill(JSON.stringify([override]));
    await page.locator('.price-changes').getByText('at this price').first().waitFor();
    await page.locator('.plain-table tbody tr').first().waitFor();
  },
  '/admin?view=jobs': 'main h2',
  '/admin?view=audit': '.plain-table tbody tr',
  '/admin?view=settings': 'main h1',
};

describe.skipIf(executablePath === undefined)('pages for everyone', () => {
  it.each([DESKTOP, PHONE])('has nothing that axe finds fault with: %o', async (viewport) => {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    const page = await dashboard.open('/', { colorScheme: 'light', viewport });
    const expectNoFault = async (rules: readonly string[], place: string): Promise<void> => {
      const { violations } = (await page.evaluate(`axe.run({ runOnly: ${JSON.stringify(rules)} })`)) as {
        violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
      };
      const found = violations.map(
        ({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary}`,
      );
      expect(found, place).toEqual([]);
    };
    for (const [path, ready] of Object.entries(READY)) {
      await page.emulateMedia({ colorScheme: 'light' });
      await page.goto(dashboard.api.url + path);
      if (typeof ready === 'string') await page.locator(ready).first().waitFor();
      else await ready(page);
      await expect.poll(() => page.locator('.loading').count()).toBe(0);
      await page.evaluate(axe);
      await expectNoFault(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'], path);
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect(overflow, `${path} is wider than its window`).toBeLessThanOrEqual(0);
      if (viewport !== DESKTOP) continue;
      // The theme changes colours alone.
      await page.emulateMedia({ colorScheme: 'dark' });
      await expectNoFault(['color-contrast'], `${path}, dark`);
    }
  });
});
