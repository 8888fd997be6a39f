import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { HOSTILE, uploadSamples } from './samples.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();

/** Whatever shows a text, name or path of a transcript. */
const PATHS = [
  '/sessions?subagents=include&columns=agent,project,branch,models,person,machine',
  '/search?q=script',
  '/search?q=onerror&mode=substring',
  '/?period=all&by=project',
  '/?period=all&by=person',
  ...['tools', 'files', 'projects', 'models', 'subagents', 'people', 'insights'].map((page) => `/${page}?period=all`),
  '/uploads',
  '/admin?view=prices',
];

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard(executablePath);
  await uploadSamples(dashboard.api);
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

describe.skipIf(executablePath === undefined)('hostile transcripts in a browser', () => {
  it('runs nothing of what transcripts hold, and asks nobody else', async () => {
    const page = await dashboard.open('/sessions');
    for (const path of PATHS) {
      await page.goto(dashboard.api.url + path);
      await page.waitForLoadState('networkidle');
      expect(await page.evaluate('window.hostile')).toBeUndefined();
    }
    await page.goto(`${dashboard.api.url}/sessions/${HOSTILE}`);
    await page.locator('.turn').first().waitFor();
    const title = await page.title();
    await page.getByRole('button', { name: 'Expand all' }).click();
    for (let turn = 0; turn < 14; turn++) {
      await page.keyboard.press('j');
      for (const button of await page.locator('button.more').all())
        await button.click({ timeout: 2000 }).catch(() => undefined);
      await page.locator('.turn b, .tool-name').first().hover();
    }
    await page.keyboard.press('G');
    await page.waitForLoadState('networkidle');
    expect(await page.evaluate('window.hostile')).toBeUndefined();
    expect(await page.title()).toBe(title);
    const links = await page
      .locator('main a')
      .evaluateAll((all) => all.map((each) => new URL(each.getAttribute('href') ?? '', 'http://a').protocol));
    expect(links.filter((protocol) => !/^(https?|mailto):$/.test(protocol))).toEqual([]);
    expect(
      await page.locator('main iframe, main script, main style, main form[action], main img[src^=http]').count(),
    ).toBe(0);
    await expect.poll(() => page.locator('main').textContent()).toContain('⟨U+202E⟩');
  });
});
