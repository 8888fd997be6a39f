import { randomBytes } from 'node:crypto';
import { createApiKey, listApiKeys, revokeApiKey } from '@recount/db';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';

const MAX_FAILED_KEYS = 5;

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi({
    maxFailedKeysPerMinute: MAX_FAILED_KEYS,
    maxRequestsPerMinute: 20,
    trustProxy: '127.0.0.1',
  });
});
afterAll(() => api.close());

const toWrongKey = (): string => `rk_${randomBytes(32).toString('base64url')}`;

let address = 0;
/** From an address that no other test uses. */
function request(path: string, authorization: string | undefined, from = `203.0.113.${++address}`): Promise<Response> {
  const headers = { 'x-forwarded-for': from, ...(authorization !== undefined && { authorization }) };
  return fetch(api.url + path, { headers });
}

describe('an API key', () => {
  it('is required for everything except health and documentation', async () => {
    for (const path of ['/v1/sessions', '/v1/transcripts', '/v1/audit']) {
      const response = await request(path, undefined);
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="recount"');
      await expectProblem(response, 401, 'missing-key');
    }
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs']) {
      expect((await request(path, undefined)).status).toBe(200);
    }
  });

  it.each(['Basic cms6cms=', 'Bearer', 'Bearer ', 'rk_x', 'Bearer a b'])('cannot be %j', async (authorization) => {
    await expectProblem(await request('/v1/sessions', authorization), 401, 'missing-key');
  });

  it.each(['x', 'rk_short', "rk_' OR 1=1 --", `rk_${'a'.repeat(44)}`, toWrongKey()])('cannot be %s', async (key) => {
    const response = await request('/v1/sessions', `Bearer ${key.replaceAll(' ', '')}`);
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"');
    await expectProblem(response, 401, 'invalid-key');
  });

  it('grants what its scopes allow; admin grants everything', async () => {
    const tries: [method: string, path: string, scope: string][] = [
      ['GET', '/v1/sessions', 'read'],
      ['GET', '/v1/transcripts', 'read'],
      ['POST', '/v1/transcripts', 'ingest'],
      ['DELETE', '/v1/sessions/none', 'admin'],
      ['GET', '/v1/audit', 'admin'],
    ];
    for (const scope of ['ingest', 'read', 'admin'] as const) {
      for (const [method, path, needed] of tries) {
        const response = await fetch(api.url + path, {
          method,
          headers: { authorization: `Bearer ${api.keys[scope]}` },
        });
        if (scope === needed || scope === 'admin') {
          expect(response.status).not.toBe(403);
        } else {
          expect(response.headers.get('www-authenticate')).toContain(`error="insufficient_scope", scope="${needed}"`);
          const { detail } = await expectProblem(response, 403, 'missing-scope');
          expect(detail).toContain(needed);
        }
      }
    }
  });

  it('stops working once it is revoked', async () => {
    const { database } = api.database;
    const { id, key } = await createApiKey(database, { workspaceId: HOME_WORKSPACE, name: 'brief', scopes: ['read'] });
    expect((await request('/v1/sessions', `bearer ${key}`)).status).toBe(200);
    await revokeApiKey(database, HOME_WORKSPACE, id);
    await expectProblem(await request('/v1/sessions', `Bearer ${key}`), 401, 'invalid-key');
  });

  it('has the time of its last use', async () => {
    const { database } = api.database;
    const { id, key } = await createApiKey(database, { workspaceId: HOME_WORKSPACE, name: 'noted', scopes: ['read'] });
    await request('/v1/sessions', `Bearer ${key}`);
    await vi.waitFor(async () => {
      const row = (await listApiKeys(database, HOME_WORKSPACE)).find((candidate) => candidate.id === id);
      expect(Date.now() - Date.parse(row?.last_used_at ?? '')).toBeLessThan(60_000);
    });
  });

  it('is limited to a number of requests per minute, uploads excluded', async () => {
    const { database } = api.database;
    const scopes = ['admin' as const];
    const { key } = await createApiKey(database, { workspaceId: HOME_WORKSPACE, name: 'busy', scopes });
    const authorization = `Bearer ${key}`;
    for (let count = 0; count < 20; count++) expect((await request('/v1/sessions', authorization)).status).toBe(200);
    const refused = await request('/v1/sessions', authorization);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    await expectProblem(refused, 429, 'too-many-requests');
    const upload = await api.upload(toTranscript('busy', 2), {}, { headers: { authorization } });
    expect(upload.status).toBe(202);
    expect((await request('/v1/sessions', `Bearer ${api.keys.other}`)).status).toBe(200);
  });
});

describe('wrong keys from one address', () => {
  it('are refused without a lookup after a few, while known good ones keep working', async () => {
    const from = '198.51.100.7';
    const { database } = api.database;
    const scopes = ['read' as const];
    const { key: seen } = await createApiKey(database, { workspaceId: HOME_WORKSPACE, name: 'seen', scopes });
    const { key: unseen } = await createApiKey(database, { workspaceId: HOME_WORKSPACE, name: 'unseen', scopes });
    expect((await request('/v1/sessions', `Bearer ${seen}`, from)).status).toBe(200);
    for (let count = 0; count < MAX_FAILED_KEYS; count++) {
      await expectProblem(await request('/v1/sessions', `Bearer ${toWrongKey()}`, from), 401, 'invalid-key');
    }
    for (const key of [toWrongKey(), unseen]) {
      const refused = await request('/v1/sessions', `Bearer ${key}`, from);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      await expectProblem(refused, 429, 'too-many-failed-keys');
    }
    expect((await request('/v1/sessions', `Bearer ${seen}`, from)).status).toBe(200);
    expect((await request('/v1/sessions', `Bearer ${unseen}`, '198.51.100.8')).status).toBe(200);
  });

  it('count for all of an IPv6 network of 64 bits', async () => {
    const ask = (from: string): Promise<Response> => request('/v1/sessions', `Bearer ${toWrongKey()}`, from);
    for (let count = 1; count <= MAX_FAILED_KEYS; count++) {
      await expectProblem(await ask(`2001:db8:0:1::${count}`), 401, 'invalid-key');
    }
    await expectProblem(await ask('2001:db8:0:1:ffff::9'), 429, 'too-many-failed-keys');
    await expectProblem(await ask('2001:db8:0:2::1'), 401, 'invalid-key');
  });
});
