import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditList, SignedIn, SignInList, Whoami } from '@recount/contract';
import { createApiKey, createSignIn, hashApiKey, revokeApiKey, rotateApiKey, touchSignIn } from '@recount/db';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';

let api: TestApi;

beforeAll(async () => {
  const dashboardDirectory = await mkdtemp(join(tmpdir(), 'recount-dashboard-'));
  await mkdir(join(dashboardDirectory, 'assets'));
  await writeFile(join(dashboardDirectory, 'index.html'), '<!doctype html><title>page</title>');
  await writeFile(join(dashboardDirectory, 'assets', 'app-1.js'), 'app();');
  api = await createTestApi({ dashboardDirectory });
});
afterAll(() => api.close());

const ask = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
  fetch(api.url + path, { method, headers });
const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });

interface Browser {
  page: string;
  cookie: string;
  /** The path that gets the cookie of a browser. */
  path: string;
  ask(path: string, headers?: Record<string, string>, method?: string): Promise<Response>;
}

/** Keeps what a browser keeps. */
async function toBrowser(response: Response): Promise<Browser> {
  expect(response.status).toBe(200);
  const { page } = (await response.json()) as SignedIn;
  const setCookie = response.headers.getSetCookie().find((each) => each.includes(page)) ?? '';
  const [cookie = ''] = setCookie.split(';', 1);
  const path = /Path=([^;]+)/.exec(setCookie)?.[1] ?? '';
  return {
    ...{ page, cookie, path },
    ask: (each, headers = {}, method = 'GET') => ask(path + each, { cookie, ...headers }, method),
  };
}

const signIn = async (key: string): Promise<Browser> => toBrowser(await ask('/v1/sign-in', bearer(key), 'POST'));
const SAME_ORIGIN = { 'recount-request': '1', 'sec-fetch-site': 'same-origin' };
const makeKey = (scopes: ('read' | 'admin')[] = ['read']) =>
  createApiKey(api.database.database, { workspaceId: HOME_WORKSPACE, name: 'browser', scopes });

describe('sign-in', () => {
  it('turns a key into a separate cookie that no script can read, and that grants what the key grants', async () => {
    const response = await ask('/v1/sign-in', bearer(api.keys.read), 'POST');
    const setCookie = response.headers.get('set-cookie') ?? '';
    for (const part of ['HttpOnly', 'SameSite=Strict', 'Max-Age=2592000']) expect(setCookie).toContain(part);
    expect(setCookie).toMatch(/^recount_sign_in=rks_[\w-]{43}; .*Path=\/signed-in\/[\w-]{43};/);
    expect(setCookie).not.toContain(api.keys.read);
    const browser = await toBrowser(response);
    const whoami = (await (await browser.ask('/v1/whoami')).json()) as Whoami;
    expect(whoami).toMatchObject({ workspace_id: HOME_WORKSPACE, workspace: 'home', scopes: ['read'] });
    expect((await browser.ask('/v1/sessions')).status).toBe(200);
    await expectProblem(await browser.ask('/v1/audit'), 403, 'missing-scope');
  });

  it('stores neither the cookie nor the secret of the page', async () => {
    const { cookie, page } = await signIn(api.keys.read);
    const { rows } = await api.database.pool.query('SELECT * FROM recount.sign_ins');
    expect(rows.length).toBeGreaterThan(0);
    const text = JSON.stringify(rows) + api.logLines.join();
    for (const secret of [page, cookie.slice(cookie.indexOf('=') + 1)]) expect(text).not.toContain(secret);
  });

  it('refuses a key that cannot read, and an unknown one', async () => {
    await expectProblem(await ask('/v1/sign-in', bearer(api.keys.ingest), 'POST'), 403, 'missing-scope');
    await expectProblem(await ask('/v1/sign-in', bearer('rk_none'), 'POST'), 401, 'invalid-key');
    await expectProblem(await ask('/v1/sign-in', {}, 'POST'), 401, 'missing-key');
    const browser = await signIn(api.keys.read);
    await expectProblem(await browser.ask('/v1/sign-in', SAME_ORIGIN, 'POST'), 401, 'missing-key');
  });

  it('accepts the cookie from its own pages only', async () => {
    const browser = await signIn(api.keys.admin);
    const remove = (headers: Record<string, string>): Promise<Response> =>
      browser.ask('/v1/sessions/none', headers, 'DELETE');
    for (const headers of [
      {},
      { ...SAME_ORIGIN, 'sec-fetch-site': 'same-site' },
      { ...SAME_ORIGIN, 'sec-fetch-site': 'none' },
    ])
      await expectProblem(await remove(headers as Record<string, string>), 403, 'cross-origin-request');
    await expectProblem(await remove(SAME_ORIGIN), 404, 'not-found');
    const foreign = await browser.ask('/v1/sessions', { 'sec-fetch-site': 'cross-site' });
    await expectProblem(foreign, 403, 'cross-origin-request');
    expect((await browser.ask('/v1/sessions', { 'sec-fetch-site': 'none' })).status).toBe(200);
  });

  it('accepts neither secret without the other, nor as a key', async () => {
    const browser = await signIn(api.keys.admin);
    const other = await signIn(api.keys.admin);
    const token = browser.cookie.slice(browser.cookie.indexOf('=') + 1);
    const { cookie, path } = browser;
    for (const [url, headers] of [
      ['/v1/whoami', { cookie, ...SAME_ORIGIN }],
      ['/v1/whoami', { cookie: `recount_key=${token}`, ...SAME_ORIGIN }],
      ['/v1/whoami', { cookie: `recount_key=${api.keys.admin}`, ...SAME_ORIGIN }],
      ['/v1/whoami', bearer(token)],
      ['/v1/whoami', bearer(browser.page)],
      [`${path}/v1/whoami`, bearer(token)],
      [`${path}/v1/whoami`, SAME_ORIGIN],
      [`${path}/v1/whoami`, { cookie: other.cookie, ...SAME_ORIGIN }],
      [`/signed-in/${'A'.repeat(43)}/v1/whoami`, { cookie, ...SAME_ORIGIN }],
      [`/signed-in/${token.slice(4)}/v1/whoami`, { cookie, ...SAME_ORIGIN }],
    ] as const)
      expect((await ask(url, headers)).status, url).toBe(401);
    expect((await browser.ask('/v1/whoami', SAME_ORIGIN)).status).toBe(200);
  });

  it('takes the cookie of an earlier version away', async () => {
    const response = await ask('/v1/whoami', { cookie: `recount_key=${api.keys.read}` });
    await expectProblem(response, 401, 'missing-key');
    expect(response.headers.get('set-cookie')).toMatch(/^recount_key=;.*Path=\/v1;.*Expires=Thu, 01 Jan 1970/);
  });
});

describe('a signed-in browser', () => {
  const expectSignedOut = async (browser: Browser): Promise<unknown> =>
    expectProblem(await browser.ask('/v1/whoami'), 401, 'invalid-key');

  it('is signed out on the server, alone', async () => {
    const [browser, other] = [await signIn(api.keys.read), await signIn(api.keys.read)];
    await expectProblem(await browser.ask('/v1/sign-out', {}, 'POST'), 403, 'cross-origin-request');
    const out = await browser.ask('/v1/sign-out', SAME_ORIGIN, 'POST');
    expect(out.status).toBe(204);
    const cleared = out.headers.get('set-cookie') ?? '';
    expect(cleared).toContain(`Path=${browser.path};`);
    expect(cleared).toMatch(/^recount_sign_in=;.*Expires=Thu, 01 Jan 1970/);
    await expectSignedOut(browser);
    expect((await other.ask('/v1/whoami')).status).toBe(200);
  });

  it('loses its open stream of events after signing out, and gets no other', async () => {
    const laterMs = 5 * 60_000;
    const later = new AbortController();
    const startTimeout = AbortSignal.timeout.bind(AbortSignal);
    const timeout = vi
      .spyOn(AbortSignal, 'timeout')
      .mockImplementation((ms) => (ms === laterMs ? later.signal : startTimeout(ms)));
    try {
      const browser = await signIn(api.keys.read);
      const stream = await browser.ask('/v1/live/events');
      expect(stream.status).toBe(200);
      expect(timeout).toHaveBeenCalledWith(laterMs);
      expect((await browser.ask('/v1/sign-out', SAME_ORIGIN, 'POST')).status).toBe(204);
      later.abort();
      expect(await stream.text()).toContain('event: running');
      await expectProblem(await browser.ask('/v1/live/events'), 401, 'invalid-key');
    } finally {
      timeout.mockRestore();
    }
  });

  it('is signed out when its page signs in again', async () => {
    const browser = await signIn(api.keys.read);
    const again = await toBrowser(await browser.ask('/v1/sign-in', bearer(api.keys.admin), 'POST'));
    await expectSignedOut(browser);
    expect((await again.ask('/v1/audit')).status).toBe(200);
  });

  it('is signed out with its key when that is revoked, expired, rotated, or revoked with the key that created it', async () => {
    const { database } = api.database;
    const rotate = (id: string, graceMs: number) =>
      rotateApiKey(database, HOME_WORKSPACE, id, { graceMs, actor: 'system' });
    const revoked = await makeKey();
    const expiring = await makeKey();
    const rotated = await makeKey();
    const parent = await makeKey(['admin']);
    const child = await createApiKey(database, {
      ...{ workspaceId: HOME_WORKSPACE, name: 'child', scopes: ['read'], actor: `key:${parent.id}` },
    });
    const [byRevoked, byExpiring, byRotated, byChild] = [
      await signIn(revoked.key),
      await signIn(expiring.key),
      await signIn(rotated.key),
      await signIn(child.key),
    ];
    await rotate(rotated.id, 60_000);
    expect((await byRotated.ask('/v1/whoami')).status).toBe(200);
    await rotate(rotated.id, 0);
    await revokeApiKey(database, HOME_WORKSPACE, revoked.id);
    await revokeApiKey(database, HOME_WORKSPACE, parent.id);
    await api.database.pool.query('UPDATE recount.api_keys SET expires_at = now() WHERE id = $1', [expiring.id]);
    for (const browser of [byRevoked, byExpiring, byRotated, byChild]) await expectSignedOut(browser);
  });

  it('is signed out after 30 days, or 7 days without use', async () => {
    for (const change of ['expires_at = now()', "last_used_at = now() - interval '7 days'"]) {
      const { id, key } = await makeKey();
      const browser = await signIn(key);
      expect((await browser.ask('/v1/whoami')).status).toBe(200);
      const { database, pool } = api.database;
      const update = `UPDATE recount.sign_ins SET ${change} WHERE key_id = $1 RETURNING id`;
      const [ended] = (await pool.query<{ id: string }>(update, [id])).rows;
      // The use of an earlier request may be recorded after its answer.
      await touchSignIn(database, HOME_WORKSPACE, ended?.id ?? '');
      await expectSignedOut(browser);
    }
  });

  it('is listed with its key, and signed out by an admin of its workspace only', async () => {
    const { id: key_id, key } = await makeKey(['admin']);
    const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0';
    const sign = () => ask('/v1/sign-in', { ...bearer(key), 'user-agent': userAgent }, 'POST');
    const [browser, other] = [await toBrowser(await sign()), await toBrowser(await sign())];
    const list = async (): Promise<SignInList['sign_ins']> => {
      const { sign_ins } = (await (await browser.ask('/v1/sign-ins')).json()) as SignInList;
      return sign_ins.filter((each) => each.key_id === key_id);
    };
    const shown = { key_id, key_name: 'browser', browser: 'Firefox on Linux' };
    expect(await list()).toMatchObject([
      { ...shown, is_current: true },
      { ...shown, is_current: false },
    ]);
    const path = `/v1/sign-ins/${(await list())[1]?.id}`;
    await expectProblem(await ask(path, bearer(api.keys.other), 'DELETE'), 404, 'not-found');
    expect((await browser.ask(path, SAME_ORIGIN, 'DELETE')).status).toBe(204);
    await expectSignedOut(other);
    expect(await list()).toHaveLength(1);
    const audit = (await (await browser.ask('/v1/audit?action=sign-in.end')).json()) as AuditList;
    expect(audit.entries).toMatchObject([{ actor: `key:${key_id}`, subjects: [path.split('/').at(-1), key_id] }]);
  });

  it('is forgotten once it has ended, and one of a hundred of its key', async () => {
    const { id: keyId, key } = await makeKey();
    const { database, pool } = api.database;
    const browser = await signIn(key);
    const request = { workspaceId: HOME_WORKSPACE, keyId, keyHash: hashApiKey(key), browser: null };
    for (let count = 0; count < 100; count++) await createSignIn(database, request);
    await expectSignedOut(browser);
    const countRows = async (): Promise<number> =>
      (await pool.query('SELECT FROM recount.sign_ins WHERE key_id = $1', [keyId])).rowCount ?? 0;
    expect(await countRows()).toBe(100);
    await revokeApiKey(database, HOME_WORKSPACE, keyId);
    await signIn(api.keys.read);
    expect(await countRows()).toBe(0);
  });
});

describe('the dashboard', () => {
  const page = { accept: 'text/html,*/*' };

  it('is served for every path that a browser opens, with a strict policy', async () => {
    for (const path of ['/', '/sessions/a%2Fb', '/anything?x=1']) {
      const response = await ask(path, page);
      expect(response.status, path).toBe(200);
      expect(await response.text()).toContain('<title>page</title>');
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
      expect(policy).not.toContain('unsafe');
    }
  });

  it('leaves paths of the API, other methods and other clients to problem responses', async () => {
    for (const path of ['/v1/none', '/docs/none']) await expectProblem(await ask(path, page), 404, 'not-found');
    expect((await ask('/')).status).toBe(200);
    await expectProblem(await ask('/sessions'), 404, 'not-found');
    await expectProblem(await ask('/', page, 'POST'), 404, 'not-found');
    await expectProblem(await ask('/assets/none.js', page), 404, 'not-found');
    await expectProblem(await ask('/assets/..%2f..%2fpackage.json'), 404, 'not-found');
  });

  it('has files that browsers may cache forever, since their names change', async () => {
    const response = await ask('/assets/app-1.js');
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(response.headers.get('content-type')).toContain('/javascript');
    expect(await response.text()).toBe('app();');
  });
});
