import { HOME_WORKSPACE } from '@recount/api/testing/test-api';
import { createApiKey } from '@recount/db';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { signIn } from './sign-in.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();
const NOW = Date.parse('2026-11-27T15:20:00Z');
let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath !== undefined) dashboard = await startDashboard({ nowMs: NOW });
});
afterAll(() => dashboard?.close());
afterEach(() => dashboard?.closePages());

describe.skipIf(executablePath === undefined)('the demo', () => {
  it('opens from an empty page, shows its own figures, and leads back when left or deleted', async () => {
    const { api } = dashboard;
    const scopes = ['read', 'operator'] as const;
    const { key } = await createApiKey(api.database.database, { workspaceId: HOME_WORKSPACE, name: 'owner', scopes });
    const page = await dashboard.open('/', { storageState: await signIn(api.url, key) });
    await page.clock.setFixedTime(NOW);
    const explore = page.getByRole('button', { name: 'Explore demo data' });
    await explore.click();
    const banner = page.getByRole('complementary', { name: 'Demo' });
    await banner.waitFor();
    await api.work();
    await page.goto(`${api.url}/?period=all`);
    const budgets = page.getByRole('region', { name: 'Budgets' });
    await budgets.getByText('82%').waitFor();
    await page.getByRole('region', { name: 'Plans' }).getByText('Team Premium').waitFor();
    await page.goto(`${api.url}/people?period=all`);
    await page.getByText('Maya Lindqvist').first().waitFor();
    await page.goto(`${api.url}/people?period=all&view=team`);
    for (const team of ['Payments', 'Product', 'Platform']) await page.locator(`.body a[title="${team}"]`).waitFor();
    await expect.poll(() => banner.textContent()).toContain('nothing here is yours');

    await banner.getByRole('button', { name: 'Back to your data' }).click();
    await explore.waitFor();
    expect(await banner.count()).toBe(0);

    await explore.click();
    await banner.getByRole('button', { name: 'Delete demo' }).click();
    await explore.waitFor();
    expect(await banner.count()).toBe(0);
  });

  it('is not offered to a key that may not make it', async () => {
    const page = await dashboard.open('/');
    await page.getByText('Nothing here yet').waitFor();
    expect(await page.getByRole('button', { name: 'Explore demo data' }).count()).toBe(0);
  });
});
