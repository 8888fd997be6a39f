import { toLine } from '@recount/api/testing/transcript-lines';
import type { UsageReport } from '@recount/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();
const HALF_HOUR_MS = 30 * 60_000;
const DAYS = ['2025-09-28', '2025-11-02', '2026-03-08', '2026-04-05'];

let dashboard: Dashboard;

/** An answer every half hour, from a day before to a day after the clocks change. */
function toHalfHours(sessionId: string, day: string): string {
  const startMs = Date.parse(day) - 24 * 3_600_000;
  const times = Array.from({ length: 3 * 48 }, (_, index) => new Date(startMs + index * HALF_HOUR_MS).toISOString());
  return times.map((timestamp, index) => toLine(sessionId, index * 2 + 1, { timestamp })).join('');
}

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  for (const day of DAYS)
    await dashboard.api.upload(toHalfHours(day, day), { path: `/home/ada/.claude/projects/a/${day}.jsonl` });
  await dashboard.api.work();
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

describe.skipIf(executablePath === undefined)('figures when clocks change', () => {
  it.each([
    ['America/Los_Angeles', '2026-03-08', 23],
    ['America/Los_Angeles', '2025-11-02', 25],
    ['Pacific/Auckland', '2025-09-28', 23],
    ['Pacific/Auckland', '2026-04-05', 25],
    ['Asia/Kolkata', '2026-03-08', 24],
  ])('show the day in %s on %s, of %i hours', async (timezoneId, day, hours) => {
    const page = await dashboard.open(`/?from=${day}&to=${day}&step=hour`, { timezoneId });
    await page.locator('.legend li').first().waitFor();
    const figures = await page
      .locator('.totals data')
      .evaluateAll((all) => all.map((each) => Number(each.getAttribute('value'))));
    const next = new Date(Date.parse(day) + 24 * 3_600_000).toISOString().slice(0, 10);
    const query = `from=${day}&to=${next}&time_zone=${timezoneId}`;
    const { totals } = await dashboard.ask<UsageReport>(`/v1/analytics/usage?${query}&group_by=hour`);
    const { own, sessions } = totals;
    expect(figures).toEqual([
      own.cost_usd,
      own.total_tokens,
      own.tokens_out,
      own.responses,
      sessions,
      own.cache_hit_ratio,
    ]);
    // Known without the API: an answer every half hour.
    expect(own.responses).toBe(hours * 2);
    expect(await page.locator('.bar').count()).toBe(hours);
  });
});
