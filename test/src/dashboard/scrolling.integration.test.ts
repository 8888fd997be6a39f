import { toTranscript } from '@recount/api/testing/transcript-lines';
import type { Outline, SessionList } from '@recount/contract';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();
const MESSAGES = 50_000;
const SESSIONS = 100_000;
/** More than the API's pages have, because it is the table that is tested. */
const SESSIONS_PER_PAGE = 5000;
/** Enough that no trace reaches their end. */
const FEW_MESSAGES = 5000;
const FRAMES = 120;
const TRACES = 3;
/** A frame's cost with many rows ÷ with few. It is at most this, as it must not depend on the rows out of sight. */
const MAX_RATIO = 3;

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  for (const [session, messages] of [
    ['long', MESSAGES],
    ['short', FEW_MESSAGES],
  ] as const) {
    const path = `/home/ada/.claude/projects/-home-ada/${session}.jsonl`;
    await dashboard.api.upload(toTranscript(session, messages), { path });
  }
  await dashboard.api.work();
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

/** CPU milliseconds of the page's thread for each frame of a scroll trace: of the best of some, because other work slows caches down. */
async function measureFrames(page: Page, scroller: string, stepPx: number): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const readMs = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics');
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1000;
  };
  const frameMs: number[] = [];
  for (let trace = 0; trace < TRACES; trace++) {
    const before = await readMs();
    await page.evaluate(`new Promise((resolve) => {
      let frame = 0;
      const step = () => {
        document.querySelector(${JSON.stringify(scroller)}).scrollBy(0, ${stepPx});
        if (++frame < ${FRAMES}) requestAnimationFrame(step);
        else resolve();
      };
      requestAnimationFrame(step);
    })`);
    frameMs.push(((await readMs()) - before) / FRAMES);
  }
  return Math.min(...frameMs);
}

describe.skipIf(executablePath === undefined)('scrolling', () => {
  it('opens a session of 50,000 messages anywhere, loading only what is in sight', async () => {
    const page = await dashboard.open('/sessions/long');
    let loaded = 0;
    page.on('request', (request) => {
      loaded += Number(/\/messages\?.*limit=(\d+)/.exec(request.url())?.[1] ?? 0);
    });
    await page.locator('.turn-answer').first().waitFor();
    await page.keyboard.press('G');
    await page.getByText(`answer ${MESSAGES - 1}`, { exact: true }).waitFor();
    const { turns } = await dashboard.ask<Outline>('/v1/sessions/long/outline');
    expect(turns).toHaveLength(MESSAGES);
    await page.goto(`${dashboard.api.url}/sessions/long?message=${turns[30_001]?.id}`);
    await page.locator('.turn[data-selected=true]').getByText('answer 30001').waitFor();
    await page.keyboard.press(']');
    await page.locator('.turn-prompt[data-selected=true]').getByText('prompt 30002 of long').waitFor();
    await page.getByLabel('Find in this session').fill('Answer 12345');
    await page.getByText('1 message', { exact: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.turn[data-selected=true]').getByText('answer 12345').waitFor();
    expect(loaded).toBeLessThan(2000);
    expect(await page.locator('.turn').count()).toBeLessThan(60);
  });

  it('scrolls it as fast as a short one', async () => {
    const frameMs: number[] = [];
    for (const session of ['short', 'long']) {
      const page = await dashboard.open(`/sessions/${session}`);
      await page.locator('.turn-answer').first().waitFor();
      frameMs.push(await measureFrames(page, 'html', 150));
      await page.locator('.turn-answer').first().waitFor();
      expect(await page.locator('.turn').count()).toBeLessThan(60);
      await page.close();
    }
    const [short = 0, long = Number.NaN] = frameMs;
    expect(long / short).toBeLessThan(MAX_RATIO);
  });

  it('scrolls 100,000 sessions as fast as 5,000, with few rows in the document', async () => {
    const [session] = (await dashboard.ask<SessionList>('/v1/sessions?limit=1')).sessions;
    const page = await dashboard.open('/uploads');
    let count = 0;
    await page.route('**/v1/sessions?*', async (route) => {
      const sessions = Array.from({ length: SESSIONS_PER_PAGE }, () => ({ ...session, session_id: `s-${count++}` }));
      await route.fulfill({ json: { sessions, next_cursor: count < SESSIONS ? `c${count}` : null } });
    });
    await page.goto(`${dashboard.api.url}/sessions`);
    await page.locator('.body [role=row]').first().waitFor();
    const table = page.locator('.data-table');
    const firstPageFrameMs = await measureFrames(page, '.data-table', 150);
    // To the end of what is loaded, as one drags the scrollbar. The next ones come.
    while (count < SESSIONS) {
      await table.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await page.evaluate('new Promise(requestAnimationFrame)');
    }
    await expect.poll(async () => Number(await table.getAttribute('aria-rowcount'))).toBe(SESSIONS + 1);
    await table.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2));
    expect((await measureFrames(page, '.data-table', 150)) / firstPageFrameMs).toBeLessThan(MAX_RATIO);
    expect(await page.locator('.body [role=row]').count()).toBeLessThan(80);
  });
});
