import type { ApprovedDevice, AuditList, DeviceCode, DeviceToken, KeyHolderAnswer } from '@recount/contract';
import { approveDeviceRequest, MAX_DEVICE_REQUESTS, revokeApiKey } from '@recount/db';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
let api: TestApi;

/** Resets the rate limits for each test. */
beforeEach(async () => {
  api = await createTestApi();
});
afterEach(() => api.close());

const post = (path: string, fields: Record<string, string>): Promise<Response> =>
  fetch(api.url + path, { method: 'POST', body: new URLSearchParams(fields) });
const askForCode = async (fields: Record<string, string> = {}): Promise<DeviceCode> =>
  (await (await post('/v1/device/code', { machine: 'laptop', ...fields })).json()) as DeviceCode;
const askForKey = ({ device_code }: DeviceCode): Promise<Response> =>
  post('/v1/device/token', { grant_type: GRANT_TYPE, device_code });
const approve = (body: object, key = api.keys.admin): Promise<Response> =>
  fetch(`${api.url}/v1/device/approve`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const query = (text: string, values: unknown[] = []) => api.database.pool.query(text, values);
const expectRefusal = async (response: Response, error: string): Promise<void> => {
  expect([response.status, await response.json()]).toEqual([400, { error }]);
};

describe('a machine without a key', () => {
  it('receives a key once an admin has approved its code, and only once', async () => {
    const codes = await askForCode({ client_id: 'recount' });
    expect(codes).toEqual({
      device_code: expect.stringMatching(/^[\w-]{43}$/),
      user_code: expect.stringMatching(/^[B-DF-HJ-NP-TV-Z]{4}-[B-DF-HJ-NP-TV-Z]{4}$/),
      verification_uri: `${api.url}/admin`,
      expires_in: 600,
      interval: 5,
    });
    await expectRefusal(await askForKey(codes), 'authorization_pending');
    await expectRefusal(await askForKey(codes), 'slow_down');
    const typed = codes.user_code.toLowerCase().replace('-', ' ');
    const approved = await approve({ user_code: typed, scopes: ['ingest', 'read'], person: 'ada' });
    expect((await approved.json()) as ApprovedDevice).toEqual({ machine: 'laptop', scopes: ['ingest', 'read'] });
    const answer = await askForKey(codes);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const { access_token: key, token_type, scope } = (await answer.json()) as DeviceToken;
    expect([token_type, scope]).toEqual(['Bearer', 'ingest read']);
    const holder = await fetch(`${api.url}/v1/key`, { headers: { authorization: `Bearer ${key}` } });
    expect((await holder.json()) as KeyHolderAnswer).toMatchObject({ scopes: ['ingest', 'read'], person: 'ada' });
    await expectRefusal(await askForKey(codes), 'expired_token');
    await expectProblem(await approve({ user_code: codes.user_code }), 404, 'not-found');
  });

  it('is recorded in the audit log, and its secret nowhere', async () => {
    const codes = await askForCode();
    await approve({ user_code: codes.user_code });
    const { rows } = await query('SELECT * FROM recount.device_requests');
    expect(JSON.stringify(rows)).not.toContain(codes.device_code);
    const { access_token: key } = (await (await askForKey(codes)).json()) as DeviceToken;
    expect((await query('SELECT * FROM recount.device_requests')).rows).toEqual([]);
    const audit = await fetch(`${api.url}/v1/audit`, { headers: { authorization: `Bearer ${api.keys.admin}` } });
    const { entries } = (await audit.json()) as AuditList;
    const [made, approved] = entries;
    expect(approved).toMatchObject({ action: 'device.approve', details: { machine: 'laptop', scopes: ['ingest'] } });
    expect(made).toMatchObject({ action: 'key.create', actor: approved?.actor, details: { name: 'laptop' } });
    expect(JSON.stringify(entries)).not.toMatch(new RegExp(`${key}|${codes.device_code}|${codes.user_code}`));
  });

  it('gets a key named after the machine, without secrets', async () => {
    const token = `ghp_${'wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx'}`;
    const codes = await askForCode({ machine: `runner-${token}` });
    const approved = await approve({ user_code: codes.user_code });
    expect(await approved.json()).toMatchObject({ machine: 'runner-[REDACTED:github]' });
    await askForKey(codes);
    const { rows } = await query('SELECT to_jsonb(k)::text AS row FROM recount.api_keys AS k');
    expect(rows.filter(({ row }) => row.includes(token))).toEqual([]);
  });

  it('receives none for a code that is expired, unknown, or approved by a key that was revoked since then', async () => {
    const old = await askForCode();
    await query("UPDATE recount.device_requests SET expires_at = now() - interval '1 second'");
    await expectProblem(await approve({ user_code: old.user_code }), 404, 'not-found');
    await expectRefusal(await askForKey(old), 'expired_token');
    await expectRefusal(await askForKey({ ...old, device_code: 'x'.repeat(43) }), 'expired_token');
    const codes = await askForCode();
    expect((await query('SELECT count(*)::int AS n FROM recount.device_requests')).rows).toEqual([{ n: 1 }]);
    const {
      rows: [admin],
    } = await query("SELECT id FROM recount.api_keys WHERE 'admin' = ANY (scopes) AND workspace_id = $1", [
      HOME_WORKSPACE,
    ]);
    await api.database.withTransaction((transaction) =>
      approveDeviceRequest(transaction, codes.user_code, {
        ...{ workspaceId: HOME_WORKSPACE, person: null, keyExpiresAt: null, actor: `key:${admin.id}` },
      }),
    );
    await api.database.withTransaction((transaction) => revokeApiKey(transaction, HOME_WORKSPACE, admin.id));
    await expectRefusal(await askForKey(codes), 'access_denied');
    await expectRefusal(await askForKey(codes), 'expired_token');
  });

  it('cannot ask for more than uploading and reading', async () => {
    for (const scope of ['admin', 'ingest admin', '', 'read read']) {
      await expectProblem(await post('/v1/device/code', { machine: 'm', scope }), 400, 'invalid-request');
    }
    const { user_code } = await askForCode({ scope: 'read' });
    await expectProblem(await approve({ user_code, scopes: ['admin'] }), 400, 'invalid-request');
    await expectProblem(await approve({ user_code }, api.keys.ingest), 403, 'missing-scope');
    expect(await (await approve({ user_code })).json()).toEqual({ machine: 'laptop', scopes: ['read'] });
  });

  it('is limited to ten requests per minute and address, and to a thousand waiting machines', async () => {
    await query(
      `INSERT INTO recount.device_requests (user_code, device_code_hash, machine, scopes, expires_at)
       SELECT 'c' || n, 'h' || n, 'm', '{ingest}', now() + interval '1 minute' FROM generate_series(1, $1::int) AS n`,
      [MAX_DEVICE_REQUESTS],
    );
    const statuses = [];
    for (let count = 0; count < 2; count += 1) statuses.push((await post('/v1/device/code', { machine: 'm' })).status);
    await query('DELETE FROM recount.device_requests');
    for (let count = 0; count < 9; count += 1) statuses.push((await post('/v1/device/code', { machine: 'm' })).status);
    expect(statuses).toEqual([429, 429, 200, 200, 200, 200, 200, 200, 200, 200, 429]);
  });
});
