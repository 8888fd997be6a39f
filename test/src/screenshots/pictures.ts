import type { Page } from 'playwright-core';

/** A page in docs/screenshots. */
export interface Picture {
  /** Name of the file. */
  name: string;
  path: string;
  /** An element of the complete page. */
  ready: string;
  prepare?: (page: Page) => Promise<void>;
}

/** One of the samples, with most of what a session can contain. */
const SESSION = '/sessions/eee65f53-e942-4ce5-b211-670eae679f02';
const ROW = '.body [role=row]';

const OVERRIDE = [{ model: 'qwen3-coder-*', inputUsdPerMillion: 2, outputUsdPerMillion: 8 }];

export const PICTURES: readonly Picture[] = [
  { name: 'overview', path: '/?period=90d&step=week', ready: '.legend li' },
  { name: 'sessions', path: '/sessions', ready: ROW },
  {
    name: 'session',
    path: SESSION,
    ready: '.turn',
    prepare: async (page) => {
      await page.keyboard.press(']');
      for (let turn = 0; turn < 3; turn++) await page.keyboard.press('j');
      await page.keyboard.press('e');
      await page.waitForTimeout(1000);
    },
  },
  { name: 'session-header', path: SESSION, ready: '.turn' },
  { name: 'search', path: '/search?q=rounding', ready: '.found mark' },
  { name: 'tools', path: '/tools?period=90d', ready: ROW },
  { name: 'files', path: '/files?period=90d', ready: ROW },
  { name: 'projects', path: '/projects?period=90d', ready: ROW },
  { name: 'models', path: '/models?period=90d', ready: ROW },
  { name: 'subagents', path: '/subagents?period=all', ready: ROW },
  { name: 'people', path: '/people?period=90d', ready: ROW },
  { name: 'reconciliation', path: '/reconciliation?view=bill-day&period=90d', ready: ROW },
  { name: 'insights', path: '/insights?period=90d', ready: '.findings' },
  { name: 'uploads', path: '/uploads', ready: ROW },
  { name: 'keys', path: '/admin', ready: '.plain-table tbody tr' },
  { name: 'workspaces', path: '/admin?view=workspaces', ready: 'main h2' },
  {
    name: 'checks',
    path: '/admin?view=checks',
    ready: 'main h2',
    prepare: async (page) => {
      for (const name of ['Run check', 'Run recount']) {
        const button = page.getByRole('button', { name }).first();
        await button.click();
        await page.waitForTimeout(3000);
      }
    },
  },
  {
    name: 'prices',
    path: '/admin?view=prices',
    ready: '.plain-table tbody tr',
    prepare: async (page) => {
      await page.getByText('All as JSON').click();
      await page.getByLabel('Overrides of the list prices').fill(JSON.stringify(OVERRIDE, null, 2));
      await page.locator('.price-changes').getByText('at this price').first().waitFor();
    },
  },
  { name: 'settings', path: '/admin?view=settings', ready: 'main h2, main form' },
  { name: 'jobs', path: '/admin?view=jobs', ready: 'main h2' },
  { name: 'audit', path: '/admin?view=audit', ready: '.plain-table tbody tr' },
  {
    name: 'share',
    path: SESSION,
    ready: '.turn',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Share …' }).click();
      await page.getByRole('button', { name: 'Create link' }).waitFor();
    },
  },
  { name: 'sign-in', path: '/sign-in', ready: '#key' },
];
