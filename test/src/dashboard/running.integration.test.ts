import { newTestStreamId, sendLive } from '@recount/api/testing/live-client';
import { toStreamLines } from '@recount/api/testing/stream-lines';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { uploadSamples } from './samples.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();
const SESSION = '88888888-2222-4333-8444-555555555555';

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  await uploadSamples(dashboard.api);
});
afterAll(() => dashboard?.close());
afterEach(() => dashboard?.closePages());

describe.skipIf(executablePath === undefined)('running sessions', () => {
  it.each([false, true])(
    'are followed by overview and sessions; without a stream, by polling: %s',
    async (isRefused) => {
      const { api } = dashboard;
      const overview = await dashboard.open('/sign-in');
      const sessions = await dashboard.open('/sign-in');
      const asked: string[] = [];
      for (const page of [overview, sessions]) {
        if (isRefused) await page.route('**/v1/live/events', (route) => route.fulfill({ status: 429 }));
        page.on('request', (request) => void (/\/v1\/live(\?|$)/.test(request.url()) && asked.push(request.url())));
      }
      const streams = [overview, sessions].map((page) => page.waitForResponse('**/v1/live/events'));
      await overview.goto(`${api.url}/`);
      await sessions.goto(`${api.url}/sessions?subagents=include`);
      await Promise.all(streams);
      await overview.getByText('No live sessions').waitFor();
      await sessions.locator('.body [role=row]').first().waitFor();
      expect(await sessions.locator('.running-now').count()).toBe(0);
      const before = asked.length;

      const sessionId = `${isRefused ? 1 : 0}${SESSION.slice(1)}`;
      const target = { url: api.url, key: api.keys.ingest };
      const streamId = newTestStreamId();
      const lines = toStreamLines(sessionId);
      const beginning = lines.slice(0, 8).join('');
      // The stream stays open when its request has ended.
      await sendLive(target, sessionId, beginning, { 'recount-stream': streamId });
      await overview.locator(`.running a[href="/sessions/${sessionId}"]`).waitFor();
      await sessions.locator(`.running-now a[href="/sessions/${sessionId}"]`).waitFor();
      if (isRefused) expect(asked.length).toBeGreaterThan(before);

      await sendLive(target, sessionId, lines.slice(8).join(''), {
        'recount-stream': streamId,
        'recount-offset': String(Buffer.byteLength(beginning)),
        'recount-complete': '?1',
      });
      await overview.getByText('No live sessions').waitFor();
      await sessions.locator('.running-now').waitFor({ state: 'detached' });
    },
  );
});
