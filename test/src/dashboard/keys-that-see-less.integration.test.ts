import { HOME_WORKSPACE } from '@recount/api/testing/test-api';
import { toTranscript } from '@recount/api/testing/transcript-lines';
import type { ApiKeyScope } from '@recount/contract/access';
import { createApiKey } from '@recount/db';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { uploadSamples } from './samples.ts';
import { signIn } from './sign-in.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';
import { visit } from './visits.ts';

const executablePath = findBrowser();
let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  await uploadSamples(dashboard.api);
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

const KEYS: [string, ApiKeyScope[], without: string[]][] = [
  ['its own sessions', ['own'], ['Tools', 'People and machines', 'Insights', 'Uploads', 'Admin']],
  ['its own sessions and takes uploads', ['ingest', 'own'], ['Tools', 'People and machines', 'Insights', 'Admin']],
  ['figures of everyone', ['figures'], ['Search', 'Files']],
  ['what a member sees', ['ingest', 'figures', 'own'], []],
  ['what an auditor sees', ['texts', 'people'], []],
];

describe.skipIf(executablePath === undefined)('a key that shows', () => {
  it.each(KEYS)('%s is asked for nothing else on the pages of its menu', async (name, scopes, without) => {
    const { api } = dashboard;
    const { key } = await createApiKey(api.database.database, {
      ...{ workspaceId: HOME_WORKSPACE, name, scopes },
      ...(scopes.includes('own') && { person: 'maya' }),
    });
    const page = await dashboard.open('/sessions', { storageState: await signIn(api.url, key) });
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 403) refused.push(`${page.url()} asks for ${response.url().split('/v1')[1]}`);
    });
    const menu = page.getByRole('navigation', { name: 'Pages' });
    await menu.getByRole('link', { name: 'Sessions' }).waitFor();
    const entries: { label: string; path: string }[] = [];
    for (const link of await menu.getByRole('link').all())
      entries.push({ label: (await link.textContent()) ?? '', path: (await link.getAttribute('href')) ?? '' });
    for (const { label, path } of entries) {
      expect(without).not.toContain(label);
      await visit(dashboard, page, path, 'main h1');
    }
    // Admin is the last of the menu.
    const isAdmin = entries.at(-1)?.path.startsWith('/admin') === true;
    const tabs = page.getByRole('group', { name: 'What to show' }).getByRole('button');
    for (const tab of isAdmin ? await tabs.all() : []) {
      await tab.click();
      await expect.poll(() => page.locator('.loading').count()).toBe(0);
    }
    expect(refused).toEqual([]);
    expect(await page.locator('.failure').count()).toBe(0);
  });

  it('its own sessions and takes uploads has the page of uploads, which follows what it sends', async () => {
    const { api } = dashboard;
    const own = {
      workspaceId: HOME_WORKSPACE,
      name: 'sender',
      scopes: ['ingest' as const, 'own' as const],
      person: 'maya',
    };
    const { key } = await createApiKey(api.database.database, own);
    const page = await dashboard.open('/sessions', { storageState: await signIn(api.url, key) });
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Uploads' }).click();
    await page.getByRole('heading', { level: 1, name: 'Uploads' }).waitFor();
    const buffer = Buffer.from(toTranscript('own-upload', 2));
    const mimeType = 'application/x-ndjson';
    await page.getByLabel('Choose files').setInputFiles({ name: 'own-upload.jsonl', mimeType, buffer });
    await page.getByText('1 of 1 stored').waitFor();
    await api.work();
    await page.getByRole('link', { name: 'Open the session' }).click();
    await page.locator('.turn').first().waitFor();
  });

  it('its own sessions says so in the place of figures of everyone, with its own total', async () => {
    const { api } = dashboard;
    const key = { workspaceId: HOME_WORKSPACE, name: 'mine', scopes: ['own' as const], person: 'maya' };
    const { key: secret } = await createApiKey(api.database.database, key);
    for (const path of ['/', '/people?period=all', '/person?person=x&period=all']) {
      const page = await dashboard.open(path, { storageState: await signIn(api.url, secret) });
      await page.getByText('Your key shows your own sessions').waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
    }
  });
});
