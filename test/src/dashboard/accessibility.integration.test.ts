import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type LiveRequestUnderWay, newTestStreamId, openLive } from '@recount/api/testing/live-client';
import { toStreamLines } from '@recount/api/testing/stream-lines';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { SESSION, shareSession, uploadSamples } from './samples.ts';
import { readSignedInUrl } from './sign-in.ts';
import { type Dashboard, DESKTOP, PHONE, startDashboard } from './start-dashboard.ts';
import { createCoverage, VISITS, visit } from './visits.ts';

const executablePath = findBrowser();

const RUNNING = '66666666-2222-4333-8444-555555555555';
/** Up to a call without a result yet. */
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

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
/** Rules that a narrow window may affect: the others have been checked in a wide one. */
const RULES_OF_LAYOUT = ['target-size', 'scrollable-region-focusable', 'button-name', 'link-name', 'label', 'tabindex'];

const OPEN_PAGES = {
  ...VISITS,
  [`/sessions/${RUNNING}`]: '.live .tool',
  '/no-such-page': '.empty, main a',
};

describe.skipIf(executablePath === undefined)('accessibility of the pages', () => {
  it.each([DESKTOP, PHONE])('has no violations that axe finds: %o', async (viewport) => {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    const page = await dashboard.open('/', { colorScheme: 'light', viewport });
    const expectNoFault = async (rules: readonly string[], place: string): Promise<void> => {
      // All rules are still checked; this only stops axe from collecting selectors and sources of elements without
      // faults.
      const options = { runOnly: rules, resultTypes: ['violations'] };
      const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as {
        violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
      };
      const found = violations.map(
        ({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary}`,
      );
      expect(found, place).toEqual([]);
    };
    const expectUsable = async (path: string): Promise<void> => {
      await page.evaluate(axe);
      await expectNoFault(viewport === DESKTOP ? WCAG : RULES_OF_LAYOUT, path);
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect(overflow, `${path} is wider than its window`).toBeLessThanOrEqual(0);
      if (viewport !== DESKTOP) return;
      // The theme only changes colours.
      await page.emulateMedia({ colorScheme: 'dark' });
      await expectNoFault(['color-contrast'], `${path}, dark`);
      await page.emulateMedia({ colorScheme: 'light' });
    };
    const coverage = createCoverage();
    for (const [path, ready] of Object.entries(OPEN_PAGES)) {
      await visit(dashboard, page, path, ready);
      await expectUsable(path);
      if (path !== '/no-such-page') await coverage.note(page);
    }
    coverage.expectComplete();
    const { path: shared } = await shareSession(dashboard.api, SESSION);
    const document = `${await readSignedInUrl(page)}/v1/sessions/${SESSION}/document?download=false`;
    for (const path of [dashboard.api.url + shared, document]) {
      await page.goto(path);
      await page.locator('article').first().waitFor();
      await expectUsable(path);
    }
  });
});
