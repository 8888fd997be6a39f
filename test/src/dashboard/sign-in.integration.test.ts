import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import { provideDashboard } from '@recount/cli/dashboard';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { useBrowser } from './shared-browser.ts';
import { readSignedInUrl } from './sign-in.ts';

const executablePath = findBrowser();
const WAIT_MS = 120_000;

/** The requests of another program's page on this host from its own server and from recount. */
const PATHS = [
  '/',
  '/v1',
  '/v1/models',
  '/v1/whoami',
  '/signed-in',
  '/signed-in/',
  '/signed-in/x/v1/whoami',
  '/assets/',
];
const METHODS = ['GET', 'POST', 'DELETE'];

let api: TestApi;
let browser: Browser;
let thief: Server;
let thiefUrl: string;
/** Headers of all requests that another program on this host gets. */
const received: IncomingHttpHeaders[] = [];

beforeAll(async () => {
  if (executablePath === undefined) return;
  browser = await useBrowser();
  api = await createTestApi({
    dashboardDirectory: (await provideDashboard(() => undefined)) ?? '',
    maxFailedKeysPerMinute: 1_000_000,
  });
  thief = createServer((request, response) => {
    received.push(request.headers);
    response.setHeader('content-type', 'text/html').end('<!doctype html><h1>Another program</h1>');
  });
  await new Promise<void>((resolve) => thief.listen(0, '127.0.0.1', resolve));
  thiefUrl = `http://127.0.0.1:${(thief.address() as AddressInfo).port}`;
});
afterAll(async () => {
  thief?.close();
  await api?.close();
});

async function signInByHand(context: BrowserContext): Promise<Page> {
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  await page.goto(`${api.url}/sign-in?next=/admin?view=browsers`);
  await page.fill('#key', api.keys.admin);
  await page.click('button[type=submit]');
  await page.getByText('this one').waitFor();
  return page;
}

describe.skipIf(executablePath === undefined)('another program on this host', () => {
  it('receives nothing from a signed-in browser, and can neither read nor change anything with what it has', async () => {
    const context = await browser.newContext();
    const own = await signInByHand(context);
    const signedIn = await readSignedInUrl(own);
    const [cookie] = await context.cookies(`${signedIn}/v1/whoami`);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: new URL(signedIn).pathname });
    expect(cookie?.value).toMatch(/^rks_/);

    // Its page is the same site, so the browser sends it, and its requests to recount, the cookies of this host.
    const page = await context.newPage();
    await page.goto(thiefUrl);
    for (const path of PATHS) await page.goto(thiefUrl + path);
    const seen = await page.evaluate<string[]>(`(async () => {
      const seen = [document.cookie, JSON.stringify(localStorage)];
      for (const path of ${JSON.stringify(PATHS)}) for (const method of ${JSON.stringify(METHODS)}) {
        await fetch(path, { method, credentials: 'include' });
        const init = { method, credentials: 'include' };
        seen.push(await fetch('${api.url}' + path, init).then((answer) => answer.text(), () => 'refused'));
        await fetch('${api.url}' + path, { ...init, mode: 'no-cors' }).catch(() => undefined);
      }
      return seen;
    })()`);
    expect(seen.slice(0, 2)).toEqual(['', '{}']);
    expect(new Set(seen.slice(2))).toEqual(new Set(['refused']));
    expect(received.length).toBeGreaterThan(PATHS.length * METHODS.length);
    const secrets = [cookie?.value ?? '', signedIn.split('/').at(-1) ?? '', api.keys.admin];
    for (const headers of received) {
      expect(headers.cookie).toBeUndefined();
      for (const secret of secrets) expect(JSON.stringify(headers)).not.toContain(secret);
    }
    await own.reload();
    await own.getByText('this one').waitFor();
    await context.close();
  });

  it('can do nothing with the cookie alone, whatever it sends with it', async () => {
    const context = await browser.newContext();
    const signedIn = await readSignedInUrl(await signInByHand(context));
    const [{ name = '', value = '' } = {}] = await context.cookies(`${signedIn}/v1/whoami`);
    const forged = {
      'recount-request': 'dashboard',
      'sec-fetch-site': 'same-origin',
      origin: api.url,
      referer: api.url,
    };
    const guesses = ['', ...[value.slice('rks_'.length), 'A'.repeat(43)].map((page) => `/signed-in/${page}`)];
    const credentials = [
      { cookie: `${name}=${value}` },
      { cookie: `recount_key=${value}; ${name}=${value}` },
      { authorization: `Bearer ${value}` },
    ];
    const requests = [
      ...['/v1/whoami', '/v1/sign-ins', '/v1/keys', '/v1/sessions'].map((path) => ['GET', path] as const),
      ...['/v1/sign-in', '/v1/sign-in/link', '/v1/keys', '/v1/transcripts'].map((path) => ['POST', path] as const),
      ...['/v1/sign-ins/x', '/v1/sessions/x'].map((path) => ['DELETE', path] as const),
    ];
    for (const guess of guesses)
      for (const credential of credentials)
        for (const [method, path] of requests) {
          const answer = await fetch(api.url + guess + path, { method, headers: { ...forged, ...credential } });
          expect([401, 403], `${method} ${path}`).toContain(answer.status);
        }
    await context.close();
  });

  it('does not act with the page that it knows, from its own origin', async () => {
    const context = await browser.newContext();
    const signedIn = await readSignedInUrl(await signInByHand(context));
    // As if it had read the secret from the log of a proxy. The browser adds the cookie to its requests.
    const page = await context.newPage();
    await page.goto(thiefUrl);
    const statuses = await page.evaluate<string[]>(`Promise.all(
      [['GET', '/v1/whoami'], ['DELETE', '/v1/sessions/none'], ['POST', '/v1/sign-out']].map(([method, path]) =>
        fetch('${signedIn}' + path, { method, credentials: 'include', mode: 'cors' })
          .then((answer) => String(answer.status), () => 'refused')))`);
    expect(statuses).toEqual(['refused', 'refused', 'refused']);
    await page.evaluate(
      `fetch('${signedIn}/v1/sign-out', { method: 'POST', credentials: 'include', mode: 'no-cors' }).catch(() => 0)`,
    );
    const own = await context.newPage();
    await own.goto(`${api.url}/admin?view=browsers`);
    await own.getByText('this one').waitFor();
    await context.close();
  });
});

describe.skipIf(executablePath === undefined)('signed-in browsers in Admin', () => {
  it('are signed out by another one', async () => {
    const [first, second] = [await browser.newContext(), await browser.newContext()];
    const kept = await signInByHand(first);
    const ended = await signInByHand(second);
    await kept.reload();
    await kept.getByText('this one').waitFor();
    await expect.poll(() => kept.getByRole('button', { name: /^Sign out Chrome/, disabled: true }).count()).toBe(1);
    const others = kept.getByRole('button', { name: /^Sign out Chrome/, disabled: false });
    const count = await others.count();
    await others.last().click();
    await expect.poll(() => others.count(), { timeout: WAIT_MS }).toBe(count - 1);
    await ended.goto(`${api.url}/sessions`);
    await ended.waitForURL(/\/sign-in\?next=/);
    await kept.reload();
    await kept.getByText('this one').waitFor();
    await first.close();
    await second.close();
  });
});

describe.skipIf(executablePath === undefined)('a link that an admin makes', () => {
  it('signs another browser in with the role that was given, once, and after a click only', async () => {
    const [mine, theirs] = [await browser.newContext(), await browser.newContext()];
    mine.setDefaultTimeout(WAIT_MS);
    theirs.setDefaultTimeout(WAIT_MS);
    const admin = await signInByHand(mine);
    await admin.goto(`${api.url}/admin?view=keys`);
    await admin.locator('summary', { hasText: 'Create key' }).click();
    await admin.getByLabel('Name', { exact: true }).fill('dashboard of Ada');
    await admin.getByLabel('Role').selectOption('viewer');
    await admin
      .getByLabel(/^Owner/)
      .first()
      .fill('ada@example.org');
    await admin.getByLabel('Hand over').selectOption('link');
    await admin.getByRole('button', { name: 'Create key' }).click();
    await admin.getByRole('button', { name: 'Make the link' }).click();
    const link = (await admin.locator('pre.shown-once').textContent()) ?? '';
    expect(link).toMatch(/\/sign-in#[\w-]{43}&confirm$/);
    await admin.getByRole('button', { name: 'I have it' }).click();
    await admin.getByRole('button', { name: 'Link is open dashboard of Ada' }).waitFor();

    // As a chat program that shows a preview does, with its scripts, in a browser without cookies.
    for (const _look of [1, 2]) {
      const preview = await theirs.newPage();
      await preview.goto(link);
      await preview.getByRole('button', { name: 'Sign in' }).waitFor();
      await preview.close();
    }
    const page = await theirs.newPage();
    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL((url) => url.pathname === '/');
    const signedIn = await readSignedInUrl(page);
    const whoami = await page.evaluate<{ role: string; person: string }>(
      `fetch('${signedIn}/v1/whoami').then((answer) => answer.json())`,
    );
    expect(whoami).toMatchObject({ role: 'viewer', person: 'ada@example.org' });

    const late = await mine.newPage();
    await late.goto(link);
    await late.getByRole('button', { name: 'Sign in' }).click();
    await late.getByRole('alert').getByText('The link was used already').waitFor();
    expect(late.url()).not.toContain('#');

    await admin.getByRole('button', { name: 'Revoke dashboard of Ada' }).click();
    await admin.getByText('This is final. To give access again, create another key').waitFor();
    await admin.getByRole('button', { name: 'Revoke it' }).click();
    await admin.getByText('revoked', { exact: true }).waitFor();
    await page.goto(`${api.url}/sessions`);
    await page.waitForURL(/\/sign-in\?next=/);
    await mine.close();
    await theirs.close();
  });
});
