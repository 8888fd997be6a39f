import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { type MadeSession, OPUS, SONNET, toMadeTranscript } from './made-session.ts';
import { readFigures } from './shown-figures.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();
/** A Wednesday at noon. */
const NOW_MS = Date.parse('2026-06-17T12:00:00Z');
const DAY_MS = 86_400_000;
const isWeekday = (ms: number): boolean => ![0, 6].includes(new Date(ms).getUTCDay());

/** $3 on each weekday from 18 May to 16 June, $1.50 of today, and three sessions that stand out. */
const TEAM: readonly (MadeSession & { person: string })[] = [
  ...Array.from({ length: 30 }, (_, index) => Date.parse('2026-05-18T15:00:00Z') + index * DAY_MS)
    .filter(isWeekday)
    .map((ms) => ({ at: new Date(ms).toISOString(), costs: [3], repository: 'api', person: 'ada', price: SONNET })),
  { at: '2026-05-12T15:00:00Z', costs: [21], repository: 'api', person: 'ada', price: SONNET },
  { at: '2026-06-09T15:00:00Z', costs: [1.5, 1.5, 1.5], repository: 'api', person: 'ada', price: SONNET },
  { at: '2026-06-10T15:00:00Z', costs: [12], repository: 'web', person: 'bob', price: OPUS },
  { at: '2026-06-17T09:00:00Z', costs: [1.5], repository: 'api', person: 'ada', price: SONNET },
];

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard({ nowMs: NOW_MS });
  for (const [index, made] of TEAM.entries()) {
    const sessionId = `20000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
    const path = `/home/x/.claude/projects/-home-x-${made.repository}/${sessionId}.jsonl`;
    await dashboard.api.upload(toMadeTranscript(made, sessionId), { path, person: made.person, machine: 'm' });
  }
  await dashboard.api.work();
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

const readValues = async (page: Page, selector: string): Promise<(number | null)[]> =>
  (await readFigures(page, selector)).map(({ value }) => (value === null ? null : Number(value.toPrecision(10))));

/** The days of June until today, beside the same number of days before, ten weekdays of them with use. */
const JUNE = '/?from=2026-06-01&to=2026-06-17&step=day';

const openJune = async (): Promise<Page> => {
  const page = await dashboard.open(JUNE);
  await page.locator('.legend li').first().waitFor();
  await expect.poll(() => page.locator('.track-figures .figure').count()).toBe(8);
  return page;
};

describe.skipIf(executablePath === undefined)('the figures of the overview', () => {
  it('answer whether the month is on track', async () => {
    const page = await openJune();
    const toDate = 12 * 3 + 4.5 + 12 + 1.5;
    // The history's weekdays: twenty with $3, one of them with $4.50 more and one with $12, all of it after noon.
    const weekday = (20 * 3 + 4.5 + 12) / 20;
    const spread =
      [...Array.from({ length: 18 }, () => 3), 7.5, 15].reduce((sum, cost) => sum + (cost - weekday) ** 2, 0) / 19;
    // Nine weekdays are left, and the afternoon of today.
    const deviation = Math.sqrt(9 * spread + (81 * spread) / 20 + spread + spread / 20);
    const forecast = toDate + 10 * weekday;
    const [low, high] = [Math.max(0, 10 * weekday - 1.6449 * deviation), 10 * weekday + 1.6449 * deviation];
    expect(await readValues(page, '.track-figures .figure')).toEqual(
      [toDate, forecast, toDate + low, toDate + high, 21 + 10 * 3, 1.5, 3, 3 / toDate].map((value) =>
        Number(value.toPrecision(10)),
      ),
    );
    const notes = await page.locator('.track-note').allTextContents();
    expect(notes[0]).toBe('+157% vs $21.00 in the same days of last month');
    await expect.poll(() => page.locator('.on-track').textContent()).toContain('13 days left');
  });

  it('are in a map of days that says what its rows and colours are, with whole names of months', async () => {
    const page = await dashboard.open('/?period=all');
    // The last column is the first week of a month.
    await page.clock.setFixedTime(Date.parse('2026-12-08T12:00:00Z'));
    await page.reload();
    const map = page.getByRole('img', { name: /^Days of the last 12 months/ });
    await map.waitFor();
    const legend = page.locator('figure', { has: map }).locator('.heat-legend');
    await expect.poll(() => legend.textContent()).toMatch(/Weeks from Monday\..*Less.*More/);
    const month = map.locator('.heat-month', { hasText: 'Dec' }).last();
    const [right, edge] = await Promise.all([
      month.evaluate((element) => {
        const range = element.ownerDocument.createRange();
        range.selectNodeContents(element);
        return range.getBoundingClientRect().right;
      }),
      map.evaluate((element) => element.getBoundingClientRect().right),
    ]);
    expect(right).toBeLessThanOrEqual(edge);
  });

  it('say what changed against the period before, and the part that explains it', async () => {
    const page = await openJune();
    const movers = page.locator('.movers li');
    await expect.poll(() => movers.count()).toBe(6);
    const texts = (await movers.allTextContents()).map((text) => text.replaceAll(/\s+/g, ' '));
    // Of web, bob and Opus, none had anything before; ada, api and Sonnet had $30.
    expect(texts.filter((text) => text.includes('+$12.00') && text.includes('$0.00 → $12.00')).length).toBe(3);
    expect(texts.filter((text) => text.includes('+$12.00') && text.includes('$30.00 → $42.00')).length).toBe(3);
    expect(texts.find((text) => text.includes('repository web'))).toContain('mostly bob (+$12.00) · 0 → 1 sessions');
  });

  it('divide the cost by repository, person and model', async () => {
    const page = await openJune();
    for (const dimension of ['repository', 'person', 'model']) {
      await expect
        .poll(() => readValues(page, `[aria-labelledby=shares-${dimension}] tbody .figure`), { message: dimension })
        .toEqual([14, 42, Number((42 / 54).toPrecision(10)), 1, 12, Number((12 / 54).toPrecision(10))]);
    }
    await page.locator('[aria-labelledby=shares-repository]').getByRole('link', { name: 'web' }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('repository')).toBe('web');
  });

  it('are read from the chart by keys, with the period before', async () => {
    const page = await openJune();
    await page.getByRole('group', { name: /^Cost by day/ }).focus();
    await page.keyboard.press('End');
    const tooltip = page.getByRole('status').filter({ hasText: 'Total' });
    await expect.poll(() => tooltip.textContent()).toMatch(/Jun 17.*Total\$1\.50.*Previous 17 days(nothing|\$0\.00)/);
    // 10 June, beside the tenth day of the period before, 24 May, a Sunday.
    for (let times = 0; times < 7; times++) await page.keyboard.press('ArrowLeft');
    await expect
      .poll(() => tooltip.textContent())
      .toMatch(/Jun 10.*Total\$15\.00.*opus-4-5\$12\.00.*sonnet-4-5\$3\.00/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/sessions\?.*from=2026-06-10/);
  });

  it('have round values and dates on the axes', async () => {
    const page = await openJune();
    await expect.poll(() => page.locator('.chart-values span').allTextContents()).toEqual(['$0', '$5', '$10', '$15']);
    await expect.poll(() => page.locator('.chart-dates span').allTextContents()).toContain('Jun 8');
    await expect.poll(() => page.locator('.usage-chart .bar').count()).toBe(17);
  });

  it('have the waste of the loop on the page Insights, as a share of all cost, by day, person and repository', async () => {
    const page = await dashboard.open('/insights?from=2026-06-01&to=2026-06-17');
    await page.locator('.waste-total').waitFor();
    expect(await readValues(page, '.waste-total .figure')).toEqual([3, 54, Number((3 / 54).toPrecision(10)), 1]);
    const share = Number((3 / 42).toPrecision(10));
    expect(await readValues(page, '.waste-parts tbody .figure')).toEqual([3, share, 3, share]);
    await page.getByRole('group', { name: /^Potential waste by day/ }).focus();
    for (const key of ['Home', ...Array.from({ length: 8 }, () => 'ArrowRight')]) await page.keyboard.press(key);
    await expect.poll(() => page.locator('.chart-tooltip').textContent()).toMatch(/Jun 9.*Total\$3\.00/);
    // The session is no waste, however much it cost.
    const worth = page.getByRole('group', { name: 'Sessions worth a look, which are no waste' });
    await worth.getByRole('button', { name: /Expensive sessions/ }).waitFor();
  });

  it('stay, with what is below them, until the findings of another kind are there', async () => {
    const page = await dashboard.open('/insights?from=2026-06-01&to=2026-06-17&kind=repeated-call');
    const before = page.getByRole('table', { name: 'Repeated calls' });
    const below = page.getByRole('heading', { name: 'Last 7 days vs previous 7' });
    await Promise.all([before.waitFor(), below.waitFor()]);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const asksOther = /analytics\/findings\?.*kind=expensive-session/;
    await page.route(asksOther, async (route) => {
      await released;
      await route.continue();
    });
    const asked = page.waitForRequest(asksOther);
    await page.getByRole('button', { name: /^Expensive sessions/ }).click();
    await asked;
    // Two frames, so that what has changed is shown.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    expect(await before.isVisible()).toBe(true);
    expect(await below.isVisible()).toBe(true);
    release();
    await page.getByRole('table', { name: 'Expensive sessions' }).waitFor();
    await expect.poll(() => before.count()).toBe(0);
  });

  it('have all columns in sight in windows of 1024 pixels', async () => {
    for (const path of ['/insights?from=2026-06-01&to=2026-06-17', '/sessions']) {
      const page = await dashboard.open(path, { viewport: { width: 1024, height: 900 } });
      await page.locator('.data-table .body [role=row]').first().waitFor();
      const hidden = () => page.locator('.data-table').evaluate((table) => table.scrollWidth - table.clientWidth);
      await expect.poll(hidden, { message: path }).toBe(0);
      const heads = page.locator('.data-table').getByRole('columnheader');
      await expect.poll(() => heads.allTextContents()).toContain(path === '/sessions' ? 'Cost ' : 'Dismiss');
    }
  });

  it('leave dismissed findings out, name them, and have them again once they are restored', async () => {
    const page = await dashboard.open('/insights?from=2026-06-01&to=2026-06-17');
    const total = () => readValues(page, '.waste-total .figure');
    await page.getByRole('button', { name: 'Dismiss' }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.getByRole('radio').count()).toBe(4);
    await dialog.getByLabel('All calls of the tool Bash').check();
    await dialog.getByLabel('Reason').fill('It waits');
    await dialog.getByRole('button', { name: 'Dismiss' }).click();
    await expect.poll(total).toEqual([0, 54, 0, 0, 3]);
    await expect.poll(() => page.locator('.waste-total').textContent()).toContain('1 dismissed, $3.00');
    await page.getByRole('button', { name: /Repeated calls/ }).click();
    await page.getByText('1 dismissed, $3.00', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByRole('table', { name: 'Repeated calls' }).getByText('Bash').waitFor();
    await page.getByText('Dismissed (1)').click();
    await page
      .getByRole('row', { name: /tool Bash.*It waits/ })
      .getByRole('button', { name: 'Restore' })
      .click();
    await expect.poll(total).toEqual([3, 54, Number((3 / 54).toPrecision(10)), 1]);
  });

  it('say whether the share of a kind of finding fell since it was addressed, with the weeks', async () => {
    const page = await dashboard.open('/insights?from=2026-06-01&to=2026-06-17&kind=repeated-call');
    await page.getByRole('button', { name: 'Mark as addressed' }).click();
    await page.getByLabel('First day when').fill('2026-06-01');
    await page.getByRole('button', { name: 'Save' }).click();
    const addressed = page.locator('.addressed');
    await addressed.waitFor();
    // $21, $15 and $15; then $15, and $31.50 with the loop of $3.
    await expect
      .poll(() => addressed.textContent())
      .toMatch(
        /No clear change.*Before 0% of cost in 3 weeks \(\$0\.00 of \$51\.00\); after .*% of cost in 2 weeks \(\$3\.00 of \$46\.50\)/,
      );
    await addressed.getByText('By week').click();
    await addressed
      .getByRole('row', { name: /2026-06-08/ })
      .getByText('$31.50')
      .waitFor();
    await page.getByRole('button', { name: 'Reopen' }).click();
    await expect.poll(() => addressed.count()).toBe(0);
  });

  it('are all on paper, with every row and column of a table', async () => {
    const viewport = { width: 1280, height: 300 };
    const page = await dashboard.open('/sessions?from=2026-05-01&to=2026-06-17&columns=cost,messages,out,in', {
      viewport,
    });
    const rows = page.locator('.data-table .body [role=row]');
    await rows.first().waitFor();
    expect(await rows.count()).toBeLessThan(TEAM.length);
    await page.emulateMedia({ media: 'print' });
    // The width of A4 at 96 dots per inch, without margins.
    await page.setViewportSize({ width: 718, height: 1000 });
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    await expect.poll(() => rows.count()).toBe(TEAM.length);
    const edges = (await page.evaluate(
      "[...document.querySelectorAll('.data-table [role=cell], .data-table [role=columnheader]')].map((cell) => cell.getBoundingClientRect().right)",
    )) as number[];
    expect(Math.max(...edges)).toBeLessThanOrEqual(718);
    await expect.poll(() => rows.last().locator('.figure').last().isVisible()).toBe(true);
    // The time is on paper, and no button that opens something.
    await expect
      .poll(() => page.locator('button.dropdown:visible').allTextContents())
      .toEqual(['2026-05-01 to 2026-06-17 ▾']);
  });
});
