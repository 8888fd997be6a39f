import { HOME_WORKSPACE } from '@recount/api/testing/test-api';
import type { BudgetList, DestinationList, DigestList } from '@recount/contract';
import { settleDelivery } from '@recount/db';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { expectNoFault } from './expect-no-fault.ts';
import { PHONE } from './shared-browser.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();
const VIEWS = [{ name: 'Berlin', search: '?repository=harbor&repository=heron&sort=cost' }];

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  for (const name of ['managers', 'team']) {
    await dashboard.api.fetch('/v1/destinations', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, kind: 'email', addresses: [`${name}@example.org`] }),
    });
  }
});
afterAll(() => dashboard?.close());
afterEach(() => dashboard?.closePages());

describe.skipIf(executablePath === undefined)('digests in a browser', () => {
  it('are made from a saved view, shown, sent, tried again, changed and removed', async () => {
    const { ask } = dashboard;
    const page = await dashboard.open('/admin?view=keys', { viewport: PHONE });
    await page.evaluate((views) => localStorage.setItem('recount.session-views', JSON.stringify(views)), VIEWS);
    await page.getByRole('button', { name: 'Digests', exact: true }).click();
    await page.getByText('No digests').waitFor();
    await page.getByText('Create digest').first().click();
    await page.getByLabel('Name').fill('weekly');
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await page.getByRole('checkbox', { name: 'managers' }).check();
    await page.getByLabel('From a saved view').selectOption('Berlin');
    await page.getByRole('button', { name: 'Create digest' }).click();
    await page.getByText('By week in Europe/Berlin: repository harbor or heron').waitFor();
    await page.getByText('Not sent yet: first after this week').waitFor();
    await expect.poll(() => page.getByLabel('Repository').inputValue()).toBe('');
    const { destinations } = await ask<DestinationList>('/v1/destinations');
    const [managers, team] = destinations;
    const made = { name: 'weekly', filters: { repository: ['harbor', 'heron'] }, destination_ids: [managers?.id] };
    expect((await ask<DigestList>('/v1/digests')).digests).toMatchObject([made]);

    await page.getByRole('button', { name: 'Preview weekly' }).click();
    await page.getByRole('dialog').getByText('Counts repository harbor or heron.').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('button', { name: 'Send now weekly' }).click();
    await page.getByText('weekly is sent to 1 destination.').waitFor();
    const { deliveries } = await ask<{ deliveries: { id: string }[] }>('/v1/deliveries?event=digest.due');
    expect(deliveries).toMatchObject([{ destination_id: managers?.id, state: 'waiting' }]);
    const place = { workspace_id: HOME_WORKSPACE, id: deliveries[0]?.id ?? '' };
    const at = new Date().toISOString();
    const outcome = { state: 'failed' as const, attempts: 17, failure_reason: 'The mail server is down' };
    await settleDelivery(dashboard.api.database.database, place, { ...outcome, next_attempt_at: at, ended_at: at });
    await page.getByRole('group', { name: 'Which messages' }).getByRole('button', { name: 'given up' }).click();
    await page.getByText('The mail server is down').waitFor();
    await expectNoFault(page);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('No messages in this state.').waitFor();
    await page.getByRole('group', { name: 'Which messages' }).getByRole('button', { name: 'all' }).click();
    await page.getByRole('region', { name: 'Messages' }).getByText('waiting').waitFor();

    await page.getByRole('button', { name: 'Edit weekly' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('monthly');
    await dialog.getByLabel('Period').selectOption('month');
    await dialog.getByLabel('or repository', { exact: true }).fill('');
    await dialog.getByRole('checkbox', { name: 'team' }).check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('By month in Europe/Berlin: repository harbor').waitFor();
    await page.getByText('Sends to managers, team').waitFor();
    const changed = { name: 'monthly', filters: { repository: 'harbor' }, destination_ids: [managers?.id, team?.id] };
    expect((await ask<DigestList>('/v1/digests')).digests).toMatchObject([changed]);

    await page.getByRole('button', { name: 'Delete monthly' }).click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.getByText('No digests').waitFor();
    expect((await ask<DigestList>('/v1/digests')).digests).toEqual([]);
  });

  it('share their destinations with budgets', async () => {
    const page = await dashboard.open('/admin?view=budgets', { viewport: PHONE });
    await page.getByText('Create budget').first().click();
    await page.getByLabel('Name').fill('everything');
    await page.getByLabel('Amount').fill('600');
    await page.getByRole('checkbox', { name: 'team' }).check();
    await page.getByRole('button', { name: 'Create budget' }).click();
    await page.getByText('Sends to team.').waitFor();
    await page.getByRole('button', { name: 'Edit everything' }).click();
    await page.getByRole('checkbox', { name: 'team', checked: true }).uncheck();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Sends to all destinations.').waitFor();
    expect((await dashboard.ask<BudgetList>('/v1/budgets')).budgets).toMatchObject([{ destination_ids: null }]);
    await expectNoFault(page);
  });
});
