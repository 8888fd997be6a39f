import type { ApiKeyList, AuditList, SignInLinkAnswer, Whoami } from '@recount/contract';
import { type ApiKeyScope, createApiKey, revokeApiKey, rotateApiKey } from '@recount/db';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, OTHER_WORKSPACE, type TestApi } from '../testing/test-api.ts';

const VIEWER = ['figures', 'own'] as const;
const HOUR_MS = 3_600_000;

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });

const makeKey = (
  scopes: readonly ApiKeyScope[],
  changes: Partial<Parameters<typeof createApiKey>[1]> = {},
): Promise<{ id: string; key: string }> =>
  createApiKey(api.database.database, {
    ...{ workspaceId: HOME_WORKSPACE, name: 'invited', scopes, person: 'ada@example.org', ...changes },
  });

const askLink = (keyId: string, by = api.keys.admin, body: object = {}): Promise<Response> =>
  api.fetch(`/v1/keys/${keyId}/sign-in-link`, {
    method: 'POST',
    headers: { ...bearer(by), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** The code of a new link. */
async function makeLink(keyId: string, by?: string, body?: object): Promise<string> {
  const answer = await askLink(keyId, by, body);
  expect(answer.status).toBe(201);
  const { path } = (await answer.json()) as SignInLinkAnswer;
  return /^\/sign-in#([\w-]{43})&confirm$/.exec(path)?.[1] ?? '';
}

const redeem = (code: string): Promise<Response> =>
  fetch(`${api.url}/v1/sign-in/link`, { method: 'POST', headers: bearer(code) });

const expectRefused = async (code: string): Promise<void> => {
  await expectProblem(await redeem(code), 401, 'invalid-key');
};

/** Signs in; the answer asks with the secrets of that browser. */
async function enter(code: string): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
  const answer = await redeem(code);
  expect(answer.status).toBe(200);
  const { page } = (await answer.json()) as { page: string };
  const [cookie = ''] = (answer.headers.getSetCookie().find((each) => each.includes(page)) ?? '').split(';', 1);
  return (path, init = {}) =>
    fetch(`${api.url}/signed-in/${page}${path}`, { ...init, headers: { cookie, 'recount-request': '1' } });
}

describe('a link of a key', () => {
  it('signs in once, with the role, person and workspace of the key, and the audit log says so', async () => {
    const { id } = await makeKey(VIEWER);
    const code = await makeLink(id);
    const ask = await enter(code);
    const whoami = (await (await ask('/v1/whoami')).json()) as Whoami;
    expect(whoami).toMatchObject({ key_id: id, workspace_id: HOME_WORKSPACE, role: 'viewer' });
    expect(whoami.person).toBe('ada@example.org');
    expect(api.logLines.filter((line) => line.includes('"level":50'))).toEqual([]);
    await expectProblem(await ask('/v1/keys'), 403, 'missing-scope');
    await expectRefused(code);
    const { entries } = (await (await api.fetch(`/v1/audit?subject=${id}`)).json()) as AuditList;
    expect(entries.map(({ action }) => action).sort()).toEqual(['key.create', 'key.link', 'sign-in.create']);
  });

  it('signs one browser in, if several try together', async () => {
    const code = await makeLink((await makeKey(VIEWER)).id);
    const answers = await Promise.all(Array.from({ length: 5 }, () => redeem(code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401]);
  });

  it('signs its browser in while others use other links of the same maker', async () => {
    const codes: string[] = [];
    for (let count = 0; count < 5; count += 1) codes.push(await makeLink((await makeKey(VIEWER)).id));
    const answers = await Promise.all(codes.map(redeem));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  it('is not used up by programs that only read its address', async () => {
    const code = await makeLink((await makeKey(VIEWER)).id);
    for (const method of ['GET', 'HEAD'])
      for (const path of ['/v1/sign-in/link', `/v1/sign-in/link?code=${code}`, `/sign-in#${code}&confirm`]) {
        const answer = await fetch(api.url + path, { method, headers: bearer(code) });
        expect(answer.headers.get('set-cookie'), path).toBeNull();
      }
    await enter(code);
  });

  it('is stored as a hash, and is in no log and in no list', async () => {
    const { id } = await makeKey(VIEWER);
    const code = await makeLink(id);
    const { rows } = await api.database.pool.query('SELECT * FROM recount.api_keys WHERE id = $1', [id]);
    const audit = await api.database.pool.query('SELECT * FROM recount.audit_log');
    const list = await (await api.fetch('/v1/keys')).text();
    await enter(code);
    await expectRefused(code);
    expect(api.logLines.join()).toContain('/v1/sign-in/link');
    for (const text of [JSON.stringify(rows), JSON.stringify(audit.rows), list, api.logLines.join()])
      expect(text).not.toContain(code);
    expect(rows).toMatchObject([{ sign_in_link_hash: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
  });

  it('replaces the earlier one, can be withdrawn, and is listed while it is open', async () => {
    const { id } = await makeKey(VIEWER);
    const openUntil = async (): Promise<string | null | undefined> =>
      ((await (await api.fetch('/v1/keys')).json()) as ApiKeyList).keys.find((key) => key.id === id)
        ?.sign_in_link_expires_at;
    const withdraw = (by = api.keys.admin): Promise<Response> =>
      api.fetch(`/v1/keys/${id}/sign-in-link`, { method: 'DELETE', headers: bearer(by) });
    expect(await openUntil()).toBeNull();
    const first = await makeLink(id);
    const second = await makeLink(id);
    await expectRefused(first);
    expect(Date.parse((await openUntil()) ?? '')).toBeGreaterThan(Date.now() + 12 * HOUR_MS);
    await expectProblem(await withdraw(api.keys.other), 404, 'not-found');
    expect((await withdraw()).status).toBe(204);
    await expectRefused(second);
    expect(await openUntil()).toBeNull();
    await expectProblem(await withdraw(), 404, 'not-found');
  });

  it('lives as long as its maker says, within bounds, and not longer than its key', async () => {
    const soon = new Date(Date.now() + HOUR_MS).toISOString();
    const { id } = await makeKey(VIEWER, { expiresAt: soon });
    const answer = (await (await askLink(id, api.keys.admin, { valid_ms: 5 * HOUR_MS })).json()) as SignInLinkAnswer;
    expect(answer.expires_at).toBe(soon);
    for (const valid_ms of [0, 299_999, 7 * 24 * HOUR_MS + 1])
      await expectProblem(await askLink(id, api.keys.admin, { valid_ms }), 400, 'invalid-request');
    const code = await makeLink(id);
    await api.database.pool.query('UPDATE recount.api_keys SET sign_in_link_expires_at = now() WHERE id = $1', [id]);
    await expectRefused(code);
  });

  it('ends when its key is revoked, rotated or has expired', async () => {
    const { database, pool } = api.database;
    const made = await Promise.all([1, 2, 3].map(() => makeKey(VIEWER)));
    const [revoked, rotated, expired] = made.map(({ id }) => id) as [string, string, string];
    const codes: string[] = [];
    for (const { id } of made) codes.push(await makeLink(id));
    await revokeApiKey(database, HOME_WORKSPACE, revoked);
    await rotateApiKey(database, HOME_WORKSPACE, rotated, { graceMs: HOUR_MS, actor: 'system' });
    await pool.query('UPDATE recount.api_keys SET expires_at = now() WHERE id = $1', [expired]);
    for (const code of codes) await expectRefused(code);
    await expectProblem(await askLink(revoked), 404, 'not-found');
    await expectProblem(await askLink(expired), 404, 'not-found');
  });
});

describe('the maker of a link', () => {
  it('is an admin of the workspace of the key', async () => {
    const { id } = await makeKey(VIEWER);
    for (const scopes of [VIEWER, ['texts', 'people'], ['ingest', 'read']] as const)
      await expectProblem(await askLink(id, (await makeKey(scopes)).key), 403, 'missing-scope');
    await expectProblem(await askLink(id, api.keys.other), 404, 'not-found');
    const other = await makeKey(VIEWER, { workspaceId: OTHER_WORKSPACE });
    await expectProblem(await askLink(other.id), 404, 'not-found');
    const ask = await enter(await makeLink(other.id, api.keys.other));
    expect(await (await ask('/v1/whoami')).json()).toMatchObject({ workspace_id: OTHER_WORKSPACE });
  });

  it('takes its links and their browsers along when it is revoked', async () => {
    const { database } = api.database;
    const maker = await makeKey(['admin']);
    const { id } = await makeKey(VIEWER);
    const ask = await enter(await makeLink(id, maker.key));
    expect((await ask('/v1/whoami')).status).toBe(200);
    const open = await makeLink(id, maker.key);
    await revokeApiKey(database, HOME_WORKSPACE, maker.id);
    await expectRefused(open);
    await expectProblem(await ask('/v1/whoami'), 401, 'invalid-key');
    const keys = (await (await api.fetch('/v1/keys')).json()) as ApiKeyList;
    expect(keys.keys.find((key) => key.id === id)?.revoked_at).toBeNull();
  });

  it('keeps no one signed in after its secret ends', async () => {
    const endsAt = new Date(Date.now() + HOUR_MS).toISOString();
    const maker = await makeKey(['admin'], { expiresAt: endsAt });
    const { id } = await makeKey(VIEWER);
    await enter(await makeLink(id, maker.key));
    const { rows } = await api.database.pool.query('SELECT expires_at FROM recount.sign_ins WHERE key_id = $1', [id]);
    expect(rows[0]?.expires_at.toISOString()).toBe(endsAt);
  });

  it('cannot get into a key that makes keys, except its own and those that end with it', async () => {
    const maker = await makeKey(['admin']);
    const foreign = await makeKey(['ingest', 'read', 'admin']);
    await expectProblem(await askLink(foreign.id, maker.key), 409, 'no-sign-in-link');
    const own = await makeKey(['read', 'admin'], { actor: `key:${maker.id}` });
    for (const id of [own.id, maker.id]) {
      const ask = await enter(await makeLink(id, maker.key));
      expect((await ask('/v1/keys')).status).toBe(200);
    }
    const operator = await makeKey(['admin', 'operator'], { actor: `key:${maker.id}` });
    await expectProblem(await askLink(operator.id, maker.key), 403, 'missing-scope');
  });

  it('is told why a key gets no link', async () => {
    const uploads = await makeKey(['ingest']);
    await expectProblem(await askLink(uploads.id), 409, 'no-sign-in-link');
    const account = await makeKey(VIEWER, { account: { issuer: 'https://id.example', subject: 'ada' } });
    await expectProblem(await askLink(account.id), 409, 'no-sign-in-link');
    await expectProblem(await askLink('01J0000000000000000000000X'), 404, 'not-found');
  });
});

describe('guesses of links', () => {
  it('are bounded for each address', async () => {
    const other = await createTestApi();
    try {
      const guess = (): Promise<Response> =>
        fetch(`${other.url}/v1/sign-in/link`, { method: 'POST', headers: bearer('A'.repeat(43)) });
      const guesses = await Promise.all(Array.from({ length: 60 }, guess));
      expect(new Set(guesses.map(({ status }) => status))).toEqual(new Set([401]));
      const answer = await guess();
      await expectProblem(answer, 429, 'too-many-requests');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    } finally {
      await other.close();
    }
  });
});
