import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import { provideDashboard } from '@recount/cli/dashboard';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { openPage, type PageOptions, useBrowser } from './shared-browser.ts';
import { signIn } from './sign-in.ts';

export interface Dashboard {
  api: TestApi;
  /** Opens a page as a user signed in with the admin key, and waits for its heading. */
  open(path: string, options?: PageOptions, isSignedIn?: boolean): Promise<Page>;
  /** The API's answer at this path. */
  ask<Answer>(path: string): Promise<Answer>;
  /** Closes all pages. Throws if one has contacted another server, failed, or violated the Content-Security-Policy. */
  closePages(): Promise<void>;
  close(): Promise<void>;
}

/** The dashboard in the run's browser, with a separate API and database. `nowMs` stops the API's clock. */
export async function startDashboard({ nowMs }: { nowMs?: number } = {}): Promise<Dashboard> {
  await useBrowser();
  const dashboardDirectory = (await provideDashboard(() => undefined)) ?? '';
  const api = await createTestApi({ dashboardDirectory }, () => (nowMs === undefined ? {} : { now: () => nowMs }));
  const releases: (() => Promise<void>)[] = [];
  const elsewhere: string[] = [];
  const complaints: string[] = [];
  return {
    api,
    async open(path, options = {}, isSignedIn = true) {
      const storageState = isSignedIn ? { storageState: await signIn(api.url, api.keys.admin) } : {};
      const { page, release } = await openPage(api.url, { ...storageState, ...options });
      releases.push(release);
      page.on('request', (request) => {
        if (!request.url().startsWith(api.url) && !/^(data|blob):/.test(request.url())) elsewhere.push(request.url());
      });
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('console', (message) => {
        if (/Content Security Policy|Trusted ?Type/i.test(message.text())) complaints.push(message.text());
      });
      await page.goto(api.url + path);
      await page.locator('h1').first().waitFor();
      return page;
    },
    ask: async <Answer>(path: string) => (await (await api.fetch(path)).json()) as Answer,
    async closePages() {
      for (const release of releases.splice(0)) await release();
      expect(elsewhere.splice(0)).toEqual([]);
      expect(complaints.splice(0)).toEqual([]);
    },
    close: () => api.close(),
  };
}
