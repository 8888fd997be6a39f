import { randomBytes } from 'node:crypto';
import { startOpenidProvider, type TestOpenidProvider } from '@recount/api/testing/openid-provider';
import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import { provideDashboard } from '@recount/cli/dashboard';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findBrowser } from './browser.ts';
import { useBrowser } from './shared-browser.ts';
import { signInPage } from './sign-in.ts';

const executablePath = findBrowser();
const WAIT_MS = 120_000;

let provider: TestOpenidProvider;
let api: TestApi;

beforeAll(async () => {
  if (executablePath === undefined) return;
  provider = await startOpenidProvider();
  const providers = [provider.settings(), provider.settings({ id: 'beta', name: 'Beta' })];
  api = await createTestApi({
    dashboardDirectory: (await provideDashboard(() => undefined)) ?? '',
    oidc: { providers, checkIntervalMs: 300_000, maxUncheckedMs: 3_600_000 },
    alerts: { secretKey: randomBytes(32), mailServer: undefined, privateNetworks: [] },
  });
  provider.open(api.url);
  provider.accounts.set('ada', { email: 'ada@acme.test', email_verified: true, groups: ['admins'] });
  provider.accounts.set('bob', { email: 'bob@acme.test', email_verified: true, groups: ['strangers'] });
});
afterAll(async () => {
  await api?.close();
  await provider?.close();
});

async function openSignIn(path: string): Promise<Page> {
  const context = await (await useBrowser()).newContext();
  onTestFinished(() => context.close());
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  await page.goto(api.url + path);
  return page;
}

describe.skipIf(executablePath === undefined)('a sign-in with a provider, in a browser', () => {
  it('leads to the page that was asked for, keeps no code in the address, and ends on both sides', async () => {
    provider.subject = 'ada';
    const page = await openSignIn('/admin?view=browsers');
    await page.getByRole('button', { name: 'Sign in with Beta' }).waitFor();
    await page.getByRole('button', { name: 'Sign in with Acme' }).click();
    await page.getByText('this one').waitFor();
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe('/admin?view=browsers');
    expect(await page.evaluate<boolean>("sessionStorage.getItem('recount-sign-in-flow') === null")).toBe(true);
    expect(await page.evaluate<string>('document.cookie')).toBe('');
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    // The provider asks before it ends its own session.
    await page.waitForURL(`${provider.issuer}/**`);
    await page.locator('button[name=logout]').click();
    await page.waitForURL(`${api.url}/sign-in**`);
    await page.getByRole('button', { name: 'Sign in with Acme' }).waitFor();
    await page.goto(`${api.url}/admin`);
    await page.waitForURL(/\/sign-in\?next=/);
  });

  it('says why an account is refused', async () => {
    provider.subject = 'bob';
    const page = await openSignIn('/sign-in');
    await page.getByRole('button', { name: 'Sign in with Acme' }).click();
    await page.getByText('in no group that may use recount').waitFor();
    expect(page.url()).toBe(`${api.url}/sign-in`);
  });

  it('is refused to an account whose key an admin revoked, until it is allowed again', async () => {
    provider.accounts.set('cleo', { email: 'cleo@acme.test', email_verified: true, groups: ['admins'] });
    provider.subject = 'cleo';
    const page = await openSignIn('/sign-in?next=/admin?view=browsers');
    const signIn = page.getByRole('button', { name: 'Sign in with Acme' });
    await signIn.click();
    await page.getByText('this one').waitFor();

    const admin = await openSignIn('/');
    await signInPage(admin, api.url, api.keys.admin);
    await admin.goto(`${api.url}/admin?view=keys`);
    const row = admin.locator('tr', { hasText: 'cleo@acme.test' });
    await row.getByRole('button', { name: 'Revoke' }).click();
    await admin.getByText('Its account can no longer sign in').waitFor();
    await admin.getByRole('button', { name: 'Revoke it' }).click();
    await row.getByText('revoked', { exact: true }).waitFor();
    await page.reload();
    await signIn.click();
    await page.getByText('An admin of recount revoked your access').waitFor();

    await row.getByRole('button', { name: 'Allow again' }).click();
    await admin.getByRole('button', { name: 'Allow it' }).click();
    await row.getByText('revoked', { exact: true }).waitFor({ state: 'detached' });
    await page.goto(`${api.url}/sign-in?next=/admin?view=browsers`);
    await signIn.click();
    await page.getByText('this one').waitFor();
  });

  it('is not finished in a browser that did not begin it', async () => {
    const page = await openSignIn('/sign-in/acme?code=stolen&state=stolen');
    await page.getByText('was not started in this browser').waitFor();
    expect(page.url()).toBe(`${api.url}/sign-in`);
  });

  it('returns to no other server', async () => {
    provider.subject = 'ada';
    const page = await openSignIn('/sign-in?next=/%09/evil.example');
    await page.getByRole('button', { name: 'Sign in with Acme' }).click();
    await page.waitForURL(`${api.url}/`);
  });
});
