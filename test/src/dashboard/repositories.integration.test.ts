import { HOME_WORKSPACE } from '@recount/api/testing/test-api';
import type { RepositoryRenameList } from '@recount/contract';
import { applyRepositoryRenames } from '@recount/db';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { uploadSamples } from './samples.ts';
import { PHONE } from './shared-browser.ts';
import { signInPage } from './sign-in.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  await uploadSamples(dashboard.api);
});
afterAll(() => dashboard?.close());
afterEach(() => dashboard?.closePages());

/** Does the work of a worker. */
const apply = () => applyRepositoryRenames(dashboard.api.database, HOME_WORKSPACE);
const listOf = (page: Page) => page.getByRole('region', { name: 'All repositories' });
const renamesOf = (page: Page) => page.getByRole('region', { name: 'Renamed and merged repositories' });
const rowsOf = (page: Page) => listOf(page).getByRole('row');

describe.skipIf(executablePath === undefined)('repositories in a browser', () => {
  it('are merged in Admin, with progress, and separated again', async () => {
    const page = await dashboard.open('/admin?view=repositories', { viewport: PHONE });
    await listOf(page).getByRole('link', { name: 'harbor-docs' }).waitFor();
    const before = await rowsOf(page).count();
    await page.getByLabel('Select billing-service').check();
    await page.getByLabel('Select harbor-docs').check();
    await page.getByRole('button', { name: 'Merge 2 into…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').or(dialog.getByRole('combobox')).fill('billing-service');
    await dialog.getByRole('button', { name: 'Merge' }).click();
    await renamesOf(page).getByText('Being applied').waitFor();
    expect(await apply()).toBeGreaterThan(0);
    await renamesOf(page).getByText('Applied').waitFor();
    await listOf(page).getByRole('link', { name: 'harbor-docs' }).waitFor({ state: 'detached' });
    await expect.poll(() => rowsOf(page).count()).toBe(before - 1);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);

    await renamesOf(page).getByRole('button', { name: 'Undo the renaming of harbor-docs' }).click();
    await renamesOf(page).getByText('Being undone').waitFor();
    await apply();
    await listOf(page).getByRole('link', { name: 'harbor-docs' }).waitFor();
    await page.getByText('None.', { exact: true }).waitFor();
    await expect.poll(() => rowsOf(page).count()).toBe(before);
  });

  it('are renamed on their page, which has the new name immediately', async () => {
    const page = await dashboard.open('/repository?repository=billing-service&period=all');
    await page.getByRole('button', { name: 'Rename or merge…' }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.getByRole('button', { name: 'Rename' }).isDisabled()).toBe(true);
    await dialog.getByRole('textbox').or(dialog.getByRole('combobox')).fill('Ledger');
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('heading', { level: 1, name: 'Ledger' }).waitFor();
    await page.locator('dl.totals').waitFor();
    const { renames } = await dashboard.ask<RepositoryRenameList>('/v1/repository-renames');
    expect(renames).toMatchObject([{ name: 'billing-service', new_name: 'Ledger', applied_at: null }]);
    await apply();
    await page.reload();
    await page.locator('dl.totals').waitFor();
  });

  it('cannot be changed with a key without the scope admin', async () => {
    const { api } = dashboard;
    const page = await dashboard.open('/admin?view=repositories');
    await signInPage(page, api.url, api.keys.read);
    await page.reload();
    await page.getByText('without the scope admin').waitFor();
    await listOf(page).getByRole('link', { name: 'harbor-docs' }).waitFor();
    expect(await page.getByRole('checkbox').count()).toBe(0);
    expect(await page.getByRole('button', { name: /Merge|Rename|Undo/ }).count()).toBe(0);
  });
});
