import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Whoami } from '@recount/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSignInLinks } from '../plugins/sign-in-links.ts';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';

const links = createSignInLinks();
let api: TestApi;

beforeAll(async () => {
  const dashboardDirectory = await mkdtemp(join(tmpdir(), 'recount-dashboard-'));
  await mkdir(join(dashboardDirectory, 'assets'));
  await writeFile(join(dashboardDirectory, 'index.html'), '<!doctype html><title>page</title>');
  await writeFile(join(dashboardDirectory, 'assets', 'app-1.js'), 'app();');
  api = await createTestApi({ dashboardDirectory }, () => ({ signInLinks: links }));
});
afterAll(() => api.close());

const ask = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
  fetch(api.url + path, { method, headers });
const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });
const toCookie = (response: Response): string => response.headers.get('set-cookie')?.split(';', 1)[0] ?? '';

describe('sign-in', () => {
  it('turns a key into a cookie that no script can read, and that grants what the key grants', async () => {
    const response = await ask('/v1/sign-in', bearer(api.keys.read), 'POST');
    expect(response.status).toBe(204);
    const setCookie = response.headers.get('set-cookie') ?? '';
    for (const part of ['HttpOnly', 'SameSite=Strict', 'Path=/v1', 'Max-Age=2592000'])
      expect(setCookie).toContain(part);
    const cookie = toCookie(response);
    const whoami = (await (await ask('/v1/whoami', { cookie })).json()) as Whoami;
    expect(whoami).toMatchObject({ workspace_id: HOME_WORKSPACE, workspace: 'home', scopes: ['read'] });
    expect((await ask('/v1/sessions', { cookie })).status).toBe(200);
    await expectProblem(await ask('/v1/audit', { cookie }), 403, 'missing-scope');
    const out = await ask('/v1/sign-out', { cookie, 'recount-request': 'test' }, 'POST');
    expect(out.headers.get('set-cookie')).toMatch(/^recount_key=;.*Expires=Thu, 01 Jan 1970/);
  });

  it('refuses a key that cannot read, and an unknown one', async () => {
    await expectProblem(await ask('/v1/sign-in', bearer(api.keys.ingest), 'POST'), 403, 'missing-scope');
    await expectProblem(await ask('/v1/sign-in', bearer('rk_none'), 'POST'), 401, 'invalid-key');
    await expectProblem(await ask('/v1/sign-in', {}, 'POST'), 401, 'missing-key');
  });

  it('accepts the code of a link once', async () => {
    const code = links.create(api.keys.admin);
    const response = await ask('/v1/sign-in/link', bearer(code), 'POST');
    expect(response.status).toBe(204);
    expect((await ask('/v1/audit', { cookie: toCookie(response) })).status).toBe(200);
    await expectProblem(await ask('/v1/sign-in/link', bearer(code), 'POST'), 401, 'invalid-key');
  });

  it('accepts the cookie from its own pages only', async () => {
    const cookie = toCookie(await ask('/v1/sign-in', bearer(api.keys.admin), 'POST'));
    const remove = (headers: Record<string, string>): Promise<Response> =>
      ask('/v1/sessions/none', { cookie, ...headers }, 'DELETE');
    await expectProblem(await remove({}), 403, 'cross-origin-request');
    await expectProblem(
      await remove({ 'recount-request': '1', 'sec-fetch-site': 'same-site' }),
      403,
      'cross-origin-request',
    );
    await expectProblem(
      await remove({ 'recount-request': '1', 'sec-fetch-site': 'none' }),
      403,
      'cross-origin-request',
    );
    await expectProblem(await remove({ 'recount-request': '1', 'sec-fetch-site': 'same-origin' }), 404, 'not-found');
    await expectProblem(
      await ask('/v1/sessions', { cookie, 'sec-fetch-site': 'cross-site' }),
      403,
      'cross-origin-request',
    );
    expect((await ask('/v1/sessions', { cookie, 'sec-fetch-site': 'none' })).status).toBe(200);
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
