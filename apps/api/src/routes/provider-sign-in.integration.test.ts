import { randomBytes } from 'node:crypto';
import type { AuditList, ProviderSignedIn, SignInFlow, Whoami } from '@recount/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApiConfig } from '../config.ts';
import { expectProblem } from '../testing/expect-problem.ts';
import { startOpenidProvider, type TestOpenidProvider } from '../testing/openid-provider.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';

const ORIGIN = 'https://recount.example';
const PAGE = { origin: ORIGIN, 'recount-request': 'dashboard', 'content-type': 'application/json' };
const CHECK_INTERVAL_MS = 5 * 60_000;

let acme: TestOpenidProvider;
let other: TestOpenidProvider;
let api: TestApi;
let nowMs: number;
/** Changes the ID token of the next answers. */
let changeClaims: ((claims: Record<string, unknown>) => string | Record<string, unknown>) | undefined;

beforeAll(async () => {
  acme = await startOpenidProvider();
  other = await startOpenidProvider();
  acme.open(ORIGIN);
  other.open(ORIGIN, { conformIdTokenClaims: false });
  const providers = [
    acme.settings({
      teams: [
        { group: 'core', team: 'Core' },
        { group: 'web', team: 'Web' },
      ],
    }),
    other.settings({ id: 'other', name: 'Other', defaultRole: 'member', scopes: ['openid', 'email'], parameters: {} }),
    acme.settings({ id: 'strict', emailDomains: ['acme.test'] }),
    acme.settings({ id: 'changed', clientSecret: 'a-secret-of-yesterday' }),
  ];
  const config: Partial<ApiConfig> = {
    oidc: { providers, checkIntervalMs: CHECK_INTERVAL_MS, maxUncheckedMs: 60 * 60_000 },
    alerts: { secretKey: randomBytes(32), mailServer: undefined, privateNetworks: [] },
  };
  api = await createTestApi(config, () => ({ now: () => nowMs, requestProvider: tamper }));
});
afterAll(async () => {
  await api.close();
  await acme.close();
  await other.close();
});
beforeEach(() => {
  nowMs = Date.now();
  changeClaims = undefined;
  acme.isDown = false;
  isSilent = false;
  isOnItsWay = undefined;
});

/** The provider takes requests, and never answers. */
let isSilent = false;

/** Waits before it passes on what UserInfo answers. */
let isOnItsWay: (() => Promise<void>) | undefined;

/** Passes requests on, and signs changed claims with the provider's own key. */
const tamper: typeof fetch = async (input, init) => {
  if (isSilent)
    return await new Promise((_resolve, reject) => {
      const give = (): void => reject(init?.signal?.reason);
      if (init?.signal?.aborted) give();
      else init?.signal?.addEventListener('abort', give);
    });
  const response = await fetch(input, init);
  if (String(input).endsWith('/me')) await isOnItsWay?.();
  if (changeClaims === undefined || !response.ok || !String(input).endsWith('/token')) return response;
  const body = (await response.json()) as { id_token: string };
  const claims = JSON.parse(Buffer.from(body.id_token.split('.')[1] ?? '', 'base64url').toString()) as Record<
    string,
    unknown
  >;
  const changed = changeClaims(claims);
  return Response.json({ ...body, id_token: typeof changed === 'string' ? changed : acme.sign(changed) });
};

const post = (path: string, body: object, headers: Record<string, string> = PAGE): Promise<Response> =>
  fetch(api.url + path, { method: 'POST', headers, body: JSON.stringify(body) });

async function begin(provider = 'acme', next?: string): Promise<SignInFlow> {
  const response = await post(`/v1/sign-in/providers/${provider}`, { next });
  expect(response.status).toBe(200);
  return (await response.json()) as SignInFlow;
}

const finish = (flow: string, response: string): Promise<Response> => post('/v1/sign-in/response', { flow, response });

async function attempt(subject: string, provider = 'acme'): Promise<Response> {
  const server = provider === 'other' ? other : acme;
  server.subject = subject;
  const { url, flow } = await begin(provider);
  return await finish(flow, await server.visit(url));
}

interface Browser {
  ask(path: string, init?: RequestInit): Promise<Response>;
  whoami(): Promise<Whoami>;
  /** The id of the sign-in. */
  id: string;
}

async function signIn(subject: string, provider?: string): Promise<Browser> {
  const response = await attempt(subject, provider);
  expect(response.status).toBe(200);
  const { page } = (await response.json()) as ProviderSignedIn;
  const cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const headers = { ...PAGE, cookie, 'sec-fetch-site': 'same-origin' };
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${api.url}/signed-in/${page}${path}`, { headers, ...init });
  const { rows } = await api.database.pool.query<{ id: string }>(
    'SELECT id FROM recount.sign_ins ORDER BY id DESC LIMIT 1',
  );
  return { ask, whoami: async () => (await (await ask('/v1/whoami')).json()) as Whoami, id: rows[0]?.id ?? '' };
}

/** As if the last check were as old as the interval. */
async function makeDue({ id }: Browser): Promise<void> {
  const age = `${CHECK_INTERVAL_MS} milliseconds`;
  await api.database.pool.query('UPDATE recount.sign_ins SET checked_at = now() - $2::interval WHERE id = $1', [
    id,
    age,
  ]);
}

async function listAudit(action: string): Promise<AuditList['entries']> {
  return ((await (await api.fetch(`/v1/audit?action=${action}`)).json()) as AuditList).entries;
}

let count = 0;
function addAccount(groups: string[] = ['engineers'], server = acme): { subject: string; email: string } {
  const subject = `subject-${++count}`;
  const email = `person-${count}@acme.test`;
  server.accounts.set(subject, { email, email_verified: true, groups });
  return { subject, email };
}

describe('a sign-in with a provider', () => {
  it('is by authorisation code with PKCE, and ends in a dashboard session of the person with the role', async () => {
    const { subject, email } = addAccount();
    acme.subject = subject;
    const { url, flow } = await begin('acme', '/sessions?q=1');
    const parameters = new URL(url).searchParams;
    expect(Object.fromEntries(parameters)).toMatchObject({
      ...{ response_type: 'code', code_challenge_method: 'S256', redirect_uri: `${ORIGIN}/sign-in/acme` },
    });
    for (const name of ['state', 'nonce', 'code_challenge']) expect(parameters.get(name)).toMatch(/^[\w-]{43}$/);
    const response = await finish(flow, await acme.visit(url));
    expect(await response.clone().json()).toMatchObject({ next: '/sessions?q=1' });
    expect(response.headers.get('set-cookie')).toMatch(/^recount_sign_in=rks_.*HttpOnly.*SameSite=Strict/);
    const browser = await signIn(subject);
    expect(await browser.whoami()).toMatchObject({ person: email, role: 'viewer', workspace: 'home' });
    const [entry] = await listAudit('sign-in.create');
    expect(entry).toMatchObject({ actor_person: email, details: { provider: 'acme', role: 'viewer' } });
    const { rows } = await api.database.pool.query('SELECT * FROM recount.people WHERE email = $1', [email]);
    expect(rows).toMatchObject([{ display_name: email, source: 'claim' }]);
  });

  it('keeps no token in the clear, in database or log', async () => {
    const seen: string[] = [];
    changeClaims = (claims) => {
      seen.push(String(claims.nonce));
      return claims;
    };
    const { subject } = addAccount();
    acme.subject = subject;
    const { url, flow } = await begin();
    const response = await acme.visit(url);
    expect((await finish(flow, response)).status).toBe(200);
    expect((await finish(flow, response)).status).toBe(401);
    const { rows } = await api.database.pool.query('SELECT * FROM recount.sign_ins');
    const text = JSON.stringify(rows) + api.logLines.join();
    const secrets = [flow, ...new URLSearchParams(response).values(), ...seen, 'secret-of-the-client', '"eyJ'];
    for (const secret of secrets.filter((each) => each !== acme.issuer)) expect(text).not.toContain(secret);
  });

  it('refuses a code or a state that was used, and what belongs to another sign-in', async () => {
    acme.subject = addAccount().subject;
    const [one, two] = [await begin(), await begin()];
    const responses = [await acme.visit(one.url), await acme.visit(two.url)] as const;
    await expectProblem(await finish(one.flow, responses[1]), 401, 'sign-in-failed');
    expect((await finish(one.flow, responses[0])).status).toBe(200);
    await expectProblem(await finish(one.flow, responses[0]), 401, 'sign-in-failed');
    // Another code with the used state.
    const [first, mixed] = responses.map((response) => new URL(response, ORIGIN)) as [URL, URL];
    mixed.searchParams.set('state', first.searchParams.get('state') ?? '');
    await expectProblem(await finish(one.flow, `${mixed.pathname}${mixed.search}`), 401, 'sign-in-failed');
  });

  it('refuses a nonce of someone else', async () => {
    acme.subject = addAccount().subject;
    const { url, flow } = await begin();
    const changed = new URL(url);
    changed.searchParams.set('nonce', 'A'.repeat(43));
    await expectProblem(await finish(flow, await acme.visit(changed.href)), 401, 'sign-in-failed');
  });

  it('refuses ID tokens of another issuer, for another client, expired, or with another signature', async () => {
    const { subject } = addAccount();
    const past = Math.floor(Date.now() / 1000) - 120;
    const wrong: (typeof changeClaims)[] = [
      (claims) => ({ ...claims, iss: 'https://evil.example' }),
      (claims) => ({ ...claims, aud: 'another' }),
      (claims) => ({ ...claims, azp: 'another' }),
      (claims) => ({ ...claims, azp: 7 }),
      (claims) => ({ ...claims, aud: [claims.aud, 'another'], azp: 'another' }),
      (claims) => ({ ...claims, aud: [claims.aud, 'another'] }),
      (claims) => ({ ...claims, exp: past }),
      (claims) => `${acme.sign(claims).slice(0, -20)}${'A'.repeat(20)}`,
      (claims) => other.sign(claims),
      (claims) => `${Buffer.from('{"alg":"none"}').toString('base64url')}.${acme.sign(claims).split('.')[1]}.`,
    ];
    for (const change of wrong) {
      changeClaims = change;
      await expectProblem(await attempt(subject), 401, 'sign-in-failed');
    }
    for (const change of [
      (claims) => claims,
      (claims) => ({ ...claims, azp: claims.aud }),
      (claims) => ({ ...claims, aud: [claims.aud, 'another'], azp: claims.aud }),
    ] satisfies (typeof changeClaims)[]) {
      changeClaims = change;
      expect((await attempt(subject)).status).toBe(200);
    }
  });

  it('refuses the answer of another issuer in the address', async () => {
    acme.subject = addAccount().subject;
    const { url, flow } = await begin();
    const response = new URL(await acme.visit(url), ORIGIN);
    response.searchParams.set('iss', other.issuer);
    await expectProblem(await finish(flow, `${response.pathname}${response.search}`), 401, 'sign-in-failed');
  });

  it('is finished within ten minutes, only by the page that began it', async () => {
    acme.subject = addAccount().subject;
    const { url, flow } = await begin();
    const response = await acme.visit(url);
    await expectProblem(await finish('', response), 400, 'invalid-request');
    await expectProblem(await finish('v1.AAAA', response), 401, 'sign-in-failed');
    nowMs += 10 * 60_000 + 1;
    await expectProblem(await finish(flow, response), 401, 'sign-in-failed');
    nowMs -= 2;
    expect((await finish(flow, response)).status).toBe(200);
  });

  it('is neither begun nor finished by a page of another origin', async () => {
    const { origin: _origin, 'recount-request': _mark, ...plain } = PAGE;
    const { flow } = await begin();
    for (const headers of [
      plain,
      { ...PAGE, 'sec-fetch-site': 'cross-site' },
      { ...PAGE, 'sec-fetch-site': 'same-site' },
    ]) {
      const begun = await post('/v1/sign-in/providers/acme', {}, headers);
      await expectProblem(begun, 403, 'cross-origin-request');
      const finished = await post('/v1/sign-in/response', { flow, response: '/sign-in/acme?code=x' }, headers);
      await expectProblem(finished, 403, 'cross-origin-request');
    }
  });

  it('returns to no other server', async () => {
    acme.subject = addAccount().subject;
    for (const next of [
      '//evil.example',
      '/\t/evil.example',
      '/\\evil.example',
      'https://evil.example',
      '/.//evil.example',
    ]) {
      const { url, flow } = await begin('acme', next);
      expect(await (await finish(flow, await acme.visit(url))).json()).toMatchObject({ next: '/' });
    }
  });

  it('says what to do if the person cancels at the provider', async () => {
    const { url, flow } = await begin();
    const state = new URL(url).searchParams.get('state') ?? '';
    const response = new URLSearchParams({ error: 'access_denied', state, iss: acme.issuer });
    const problem = await expectProblem(await finish(flow, `/sign-in/acme?${response}`), 401, 'sign-in-failed');
    expect(JSON.stringify(problem)).toContain('access_denied');
  });

  it('refuses accounts without a group or of another domain, in plain words, and notes it', async () => {
    const { subject } = addAccount(['strangers']);
    const refused = await attempt(subject);
    expect(await refused.clone().text()).toContain('in no group that may use recount');
    await expectProblem(refused, 403, 'sign-in-refused');
    expect((await listAudit('sign-in.refuse'))[0]).toMatchObject({
      ...{ actor: 'system', details: { provider: 'acme', reason: 'no-role', subject } },
    });
    const known = addAccount();
    acme.accounts.set(known.subject, { email: 'mallory@evil.example', email_verified: true, groups: ['engineers'] });
    await expectProblem(await attempt(known.subject, 'strict'), 403, 'sign-in-refused');
    acme.accounts.set(known.subject, { email: known.email, email_verified: false, groups: ['engineers'] });
    await expectProblem(await attempt(known.subject, 'strict'), 403, 'sign-in-refused');
    acme.accounts.set(known.subject, { email: known.email, email_verified: true, groups: ['engineers'] });
    expect((await attempt(known.subject, 'strict')).status).toBe(200);
  });

  it('takes an address for a person only if the provider verified it', async () => {
    const { email } = addAccount();
    other.accounts.set('liar', { email, email_verified: false });
    other.accounts.set('honest', { email: email.toUpperCase(), email_verified: true });
    const liar = await (await signIn('liar', 'other')).whoami();
    expect(liar).toMatchObject({ person: `${other.issuer} liar`, role: 'member' });
    const own = await (await signIn(`subject-${count}`)).whoami();
    const honest = await (await signIn('honest', 'other')).whoami();
    expect(honest.person?.toLowerCase()).toBe(email);
    expect(honest.key_id).not.toBe(own.key_id);
    const { rows } = await api.database.pool.query('SELECT FROM recount.people WHERE lower(email) = $1', [email]);
    expect(rows).toHaveLength(1);
  });

  it('takes no address of the ID token for verified because UserInfo has verified another', async () => {
    const victim = addAccount();
    const { subject, email } = addAccount();
    const toPerson = async (added: object) => {
      changeClaims = (claims) => ({ ...claims, ...added });
      return (await (await signIn(subject)).whoami()).person;
    };
    const nameless = `${acme.issuer} ${subject}`;
    expect(await toPerson({ email: victim.email })).toBe(nameless);
    expect(await toPerson({ email: victim.email, email_verified: false })).toBe(nameless);
    expect(await toPerson({ email })).toBe(email);
    expect(await toPerson({ email_verified: false })).toBe(email);
    expect(await toPerson({})).toBe(email);
  });

  it('ends after the stated time where the provider gives no refresh token', async () => {
    other.accounts.set('short', { email: 'short@acme.test', email_verified: true });
    const browser = await signIn('short', 'other');
    expect((await browser.ask('/v1/whoami')).status).toBe(200);
    const { rows } = await api.database.pool.query<{ hours: number; checked_at: null }>(
      'SELECT extract(epoch FROM expires_at - created_at)::float8 / 3600 AS hours, checked_at FROM recount.sign_ins WHERE id = $1',
      [browser.id],
    );
    expect(rows[0]?.hours).toBeCloseTo(1, 2);
    expect(rows[0]?.checked_at).toBeNull();
  });
});

describe('a browser that is signed in with a provider', () => {
  it('is signed out when its account is revoked', async () => {
    const { subject } = addAccount();
    const browser = await signIn(subject);
    acme.accounts.delete(subject);
    expect((await browser.ask('/v1/whoami')).status).toBe(200);
    await makeDue(browser);
    await expectProblem(await browser.ask('/v1/whoami'), 401, 'invalid-key');
    expect((await listAudit('sign-in.end'))[0]).toMatchObject({
      ...{ actor: 'system', details: { provider: 'acme', reason: 'refused: invalid_grant' } },
    });
  });

  it('gets the role and the team of its new groups, and loses access with the last one', async () => {
    const { subject, email } = addAccount(['engineers', 'core']);
    const browser = await signIn(subject);
    const readTeam = async (): Promise<unknown> => {
      const { people } = (await (await api.fetch('/v1/people')).json()) as {
        people: { email: string; team: string | null }[];
      };
      return people.find((each) => each.email === email)?.team;
    };
    expect(await readTeam()).toBe('Core');
    const change = async (groups: string[]): Promise<void> => {
      acme.accounts.set(subject, { email, email_verified: true, groups });
      await makeDue(browser);
    };
    await expectProblem(await browser.ask('/v1/audit'), 403, 'missing-scope');
    await change(['admins', 'web']);
    expect((await browser.ask('/v1/audit')).status).toBe(200);
    expect(await browser.whoami()).toMatchObject({ role: 'admin' });
    expect(await readTeam()).toBe('Web');
    expect((await listAudit('key.change'))[0]).toMatchObject({
      ...{ actor: 'system', details: { former_scopes: ['figures', 'own'], scopes: ['ingest', 'read', 'admin'] } },
    });
    await change(['engineers']);
    await expectProblem(await browser.ask('/v1/audit'), 403, 'missing-scope');
    expect(await readTeam()).toBeNull();
    await change([]);
    await expectProblem(await browser.ask('/v1/whoami'), 401, 'invalid-key');
  });

  it('is checked once, however many requests it sends, and again after the next interval', async () => {
    const { subject } = addAccount();
    const browser = await signIn(subject);
    for (let round = 0; round < 2; round++) {
      await makeDue(browser);
      const before = acme.tokenRequests;
      const answers = await Promise.all(Array.from({ length: 8 }, () => browser.ask('/v1/whoami')));
      expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
      expect(acme.tokenRequests).toBe(before + 1);
    }
  });

  it('keeps the groups of the later answer if two browsers of the account are checked together', async () => {
    const { subject, email } = addAccount(['admins']);
    const [first, second] = [await signIn(subject), await signIn(subject)];
    await makeDue(first);
    const asked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    isOnItsWay = () => {
      asked.resolve();
      return released.promise;
    };
    const slow = first.whoami();
    await asked.promise;
    isOnItsWay = undefined;
    acme.accounts.set(subject, { email, email_verified: true, groups: ['engineers'] });
    // Idle for so long that it is refused unless it is checked.
    await api.database.pool.query("UPDATE recount.sign_ins SET checked_at = now() - interval '1 hour' WHERE id = $1", [
      second.id,
    ]);
    const waiting = second.ask('/v1/whoami');
    // Requests after it have been answered, so it has found the first one under way.
    for (let request = 0; request < 20; request++) await api.fetch('/v1/whoami');
    released.resolve();
    await slow;
    expect((await waiting).status).toBe(200);
    await expectProblem(await second.ask('/v1/audit'), 403, 'missing-scope');
    await expectProblem(await first.ask('/v1/audit'), 403, 'missing-scope');
  });

  it('waits while its provider is down, when API keys work as before', async () => {
    const { subject } = addAccount();
    const browser = await signIn(subject);
    await makeDue(browser);
    acme.isDown = true;
    const down = await browser.ask('/v1/whoami');
    expect(down.headers.get('retry-after')).toBe('10');
    expect(await down.clone().text()).toContain('API keys work as before');
    await expectProblem(down, 503, 'provider-unavailable');
    expect((await api.fetch('/v1/whoami')).status).toBe(200);
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200);
    acme.isDown = false;
    nowMs += 6000;
    expect((await browser.ask('/v1/whoami')).status).toBe(200);
  });

  it('waits no longer than five seconds for a provider that does not answer, and is told so', async () => {
    const { subject } = addAccount();
    const browser = await signIn(subject);
    acme.subject = subject;
    const { url, flow } = await begin();
    const response = await acme.visit(url);
    const late = AbortSignal.abort(new DOMException('Too late', 'TimeoutError'));
    const startTimeout = AbortSignal.timeout.bind(AbortSignal);
    const timeout = vi
      .spyOn(AbortSignal, 'timeout')
      .mockImplementation((ms) => (ms === 5000 ? late : startTimeout(ms)));
    try {
      isSilent = true;
      const finished = await finish(flow, response);
      expect(await finished.clone().text()).toContain('Acme cannot be asked now');
      await expectProblem(finished, 503, 'provider-unavailable');
      await makeDue(browser);
      await expectProblem(await browser.ask('/v1/whoami'), 503, 'provider-unavailable');
      expect(api.logLines.join()).toContain('OAUTH_TIMEOUT');
    } finally {
      timeout.mockRestore();
    }
    isSilent = false;
    nowMs += 6000;
    expect((await browser.ask('/v1/whoami')).status).toBe(200);
  });

  it('is told to try again where the provider no longer knows the secret of recount, which the log names', async () => {
    const { subject } = addAccount();
    const answer = await attempt(subject, 'changed');
    expect(answer.headers.getSetCookie()).toEqual([]);
    await expectProblem(answer, 503, 'provider-unavailable');
    expect(api.logLines.join()).toContain('invalid_client');
    expect(api.logLines.join()).not.toContain('a-secret-of-yesterday');
    // Browsers stay signed in, and continue once the settings have the new secret.
    const browser = await signIn(subject);
    await makeDue(browser);
    const setProvider = (id: string): Promise<unknown> =>
      api.database.pool.query('UPDATE recount.sign_ins SET provider = $2 WHERE id = $1', [browser.id, id]);
    await setProvider('changed');
    await expectProblem(await browser.ask('/v1/whoami'), 503, 'provider-unavailable');
    await setProvider('acme');
    nowMs += 60_000;
    expect((await browser.ask('/v1/whoami')).status).toBe(200);
  });

  it('is signed out if its provider was removed from the settings, or the key for secrets was changed', async () => {
    for (const [change, reason] of [
      ["provider = 'removed'", 'provider-removed'],
      ["sealed_tokens = 'sealed with another key'", 'tokens-unreadable'],
    ] as const) {
      const browser = await signIn(addAccount().subject);
      await api.database.pool.query(`UPDATE recount.sign_ins SET ${change} WHERE id = $1`, [browser.id]);
      await makeDue(browser);
      const answer = await browser.ask('/v1/whoami');
      expect(await answer.clone().text()).toContain('You are signed out in this browser. Sign in again');
      await expectProblem(answer, 401, 'invalid-key');
      expect((await listAudit('sign-in.end'))[0]).toMatchObject({ details: { reason } });
    }
    const gone = await post('/v1/sign-in/providers/removed', {});
    expect(await gone.clone().text()).toContain('There is no such provider. Reload the page');
    await expectProblem(gone, 404, 'not-found');
  });

  it('signs out here and at the provider, whose tokens are revoked', async () => {
    const { subject } = addAccount();
    const browser = await signIn(subject);
    const out = await browser.ask('/v1/sign-out', { method: 'POST' });
    expect(out.status).toBe(200);
    const { url } = (await out.json()) as { url: string };
    const { origin, searchParams } = new URL(url);
    expect(origin).toBe(acme.issuer);
    expect(searchParams.get('post_logout_redirect_uri')).toBe(`${ORIGIN}/sign-in`);
    expect(searchParams.get('id_token_hint')).toMatch(/^eyJ/);
    expect((await fetch(url)).status).toBe(200);
    await expectProblem(await browser.ask('/v1/whoami'), 401, 'invalid-key');
    expect((await listAudit('sign-in.end'))[0]).toMatchObject({ details: { provider: 'acme' } });
  });

  it('is signed out with the key of its account, which has no secret, until an admin allows it again', async () => {
    const { subject } = addAccount(['admins']);
    const browser = await signIn(subject);
    const { key_id: keyId } = await browser.whoami();
    const request = { method: 'POST', body: JSON.stringify({ name: 'made', scopes: ['read'] }) };
    const made = (await (await browser.ask('/v1/keys', request)).json()) as { key: string };
    const askWithMade = () => fetch(`${api.url}/v1/whoami`, { headers: { authorization: `Bearer ${made.key}` } });
    expect((await askWithMade()).status).toBe(200);
    const rotate = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
    await expectProblem(await api.fetch(`/v1/keys/${keyId}/rotate`, rotate), 404, 'not-found');
    expect((await api.fetch(`/v1/keys/${keyId}`, { method: 'DELETE' })).status).toBe(204);
    await expectProblem(await browser.ask('/v1/whoami'), 401, 'invalid-key');
    await expectProblem(await askWithMade(), 401, 'invalid-key');
    const refused = await attempt(subject);
    expect(await refused.clone().text()).toContain('revoked your access');
    await expectProblem(refused, 403, 'sign-in-refused');
    const restore = (): Promise<Response> => api.fetch(`/v1/keys/${keyId}/restore`, { method: 'POST' });
    expect((await restore()).status).toBe(204);
    expect(await (await signIn(subject)).whoami()).toMatchObject({ key_id: keyId, role: 'admin' });
    await expectProblem(await askWithMade(), 401, 'invalid-key');
    await expectProblem(await restore(), 404, 'not-found');
    expect((await listAudit('key.restore'))[0]).toMatchObject({ subjects: [keyId] });
  });
});
