import type { ApiKeyList, ApiKeySecret, AuditList, UploadReceipt } from '@recount/contract';
import { createApiKey, listApiKeys } from '@recount/db';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';

let api: TestApi;
let actor: string;
beforeAll(async () => {
  api = await createTestApi();
  const keys = await listApiKeys(api.database.database, HOME_WORKSPACE);
  actor = `key:${keys.find(({ scopes }) => scopes.includes('admin'))?.id}`;
});
afterAll(() => api.close());

const read = async (query = ''): Promise<AuditList> =>
  (await (await api.fetch(`/v1/audit${query}`)).json()) as AuditList;
const change = (method: string, path: string, body?: object) =>
  api.fetch(path, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });

it('records who changed settings and prices, reparsed a transcript, and deleted a session', async () => {
  const receipt = (await (await api.upload(toTranscript('audited', 4))).json()) as UploadReceipt;
  await api.work();
  await change('POST', `/v1/transcripts/${receipt.transcript_id}/reparse`);
  await api.work();
  await change('PUT', '/v1/settings', { redaction: 'rows' });
  await change('PUT', '/v1/prices', {
    currency_label: 'EUR',
    overrides: [{ model: 'own-model', inputUsdPerMillion: 1, outputUsdPerMillion: 2 }],
  });
  await change('DELETE', '/v1/sessions/audited');
  expect((await change('DELETE', '/v1/sessions/audited')).status).toBe(404);
  const { entries } = await read('?limit=4');
  expect(entries).toMatchObject([
    { actor, action: 'session.delete', subjects: ['audited'], details: { transcripts: 1 } },
    { actor, action: 'prices.change', details: { currency_label: 'EUR', overrides: 1, models: ['own-model'] } },
    { actor, action: 'settings.change', details: { from: { redaction: 'off' }, to: { redaction: 'rows' } } },
    { actor, action: 'transcript.requeue', subjects: [receipt.transcript_id] },
  ]);
  expect(JSON.stringify(entries)).not.toContain('prompt 0');
});

it('is paged, and filtered by actor, action, subject and time', async () => {
  for (let days = 1; days <= 5; days++) await change('PUT', '/v1/settings', { raw_max_age_days: days });
  const { entries: all, next_cursor: end } = await read('?limit=500');
  expect(end).toBeNull();
  const pages: AuditList['entries'] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: AuditList = await read(`?limit=2${cursor && `&cursor=${cursor}`}`);
    pages.push(...page.entries);
    cursor = page.next_cursor;
  }
  expect(pages).toEqual(all);
  expect((await read(`?action=settings.change&actor=${actor}`)).entries.length).toBeGreaterThanOrEqual(5);
  expect((await read('?actor=operator:ada')).entries).toEqual([]);
  expect((await read('?action=key.create')).entries.every(({ subjects }) => subjects.length === 1)).toBe(true);
  const subject = all.find(({ action }) => action === 'key.create')?.subjects[0];
  expect((await read(`?subject=${subject}`)).entries).toMatchObject([{ action: 'key.create' }]);
  expect((await read('?to=2020-01-01')).entries).toEqual([]);
  expect((await read('?from=2020-01-01&limit=500')).entries).toEqual(all);
  await expectProblem(await api.fetch('/v1/audit?cursor=bm9uZQ'), 400, 'invalid-cursor');
});

it('lists the keys of the workspace without their secrets', async () => {
  const { keys: all } = (await (await api.fetch('/v1/keys')).json()) as ApiKeyList;
  const keys = all.filter(({ name }) => name === 'test');
  expect(keys).toHaveLength(3);
  expect(keys[0]).toMatchObject({ name: 'test', scopes: ['ingest'], expires_at: null, revoked_at: null });
  expect(JSON.stringify(all)).not.toMatch(/hash|rk_/);
});

it('creates, rotates and revokes keys, and shows each secret once', async () => {
  const status = async (key: string): Promise<number> =>
    (await api.fetch('/v1/sessions', { headers: { authorization: `Bearer ${key}` } })).status;
  const made = await change('POST', '/v1/keys', { name: 'ci', scopes: ['read'], person: 'ada@example.org' });
  expect([made.status, made.headers.get('cache-control')]).toEqual([201, 'no-store']);
  const first = (await made.json()) as ApiKeySecret;
  expect(await status(first.key)).toBe(200);
  const rotation = await change('POST', `/v1/keys/${first.id}/rotate`, { expires_at: '2999-01-01T00:00:00Z' });
  const second = (await rotation.json()) as ApiKeySecret;
  expect(second).toMatchObject({ id: first.id, expires_at: '2999-01-01T00:00:00.000Z', previous_expires_at: null });
  expect([await status(first.key), await status(second.key)]).toEqual([401, 200]);
  const third = (await (
    await change('POST', `/v1/keys/${first.id}/rotate`, { grace_ms: 3_600_000 })
  ).json()) as ApiKeySecret;
  expect([await status(second.key), await status(third.key)]).toEqual([200, 200]);
  const listed = await (await api.fetch('/v1/keys')).text();
  expect(listed).toContain('ada@example.org');
  for (const { key } of [first, second, third]) expect(listed).not.toContain(key);
  expect((await change('DELETE', `/v1/keys/${first.id}`)).status).toBe(204);
  expect([await status(second.key), await status(third.key)]).toEqual([401, 401]);
  await expectProblem(await change('DELETE', `/v1/keys/${first.id}`), 404, 'not-found');
  await expectProblem(await change('POST', `/v1/keys/${first.id}/rotate`, {}), 404, 'not-found');
  for (const wrong of [{ scopes: [] }, { scopes: ['root'] }, { name: '' }, { expires_at: '2020-01-01T00:00:00Z' }]) {
    await expectProblem(
      await change('POST', '/v1/keys', { name: 'a', scopes: ['read'], ...wrong }),
      400,
      'invalid-request',
    );
  }
  const keyed = (key: string, method: string, path: string, body: object) =>
    api.fetch(path, {
      method,
      body: JSON.stringify(body),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
  const toKey = async (response: Promise<Response>) => (await (await response).json()) as ApiKeySecret;
  const end = new Date(Date.now() + 3_600_000).toISOString();
  const stolen = await toKey(change('POST', '/v1/keys', { name: 'stolen', scopes: ['admin'], expires_at: end }));
  const other = await toKey(change('POST', '/v1/keys', { name: 'other', scopes: ['read'] }));
  const endless = await keyed(stolen.key, 'POST', '/v1/keys', { name: 'endless', scopes: ['admin'] });
  await expectProblem(endless, 400, 'invalid-request');
  const child = await toKey(
    keyed(stolen.key, 'POST', '/v1/keys', { name: 'child', scopes: ['admin'], expires_at: end }),
  );
  const grandchild = await toKey(
    keyed(child.key, 'POST', '/v1/keys', { name: 'grandchild', scopes: ['read'], expires_at: end }),
  );
  const taken = await toKey(keyed(stolen.key, 'POST', `/v1/keys/${other.id}/rotate`, {}));
  const left = [child.key, grandchild.key, taken.key];
  expect(await Promise.all(left.map(status))).toEqual([200, 200, 200]);
  expect((await change('DELETE', `/v1/keys/${stolen.id}`)).status).toBe(204);
  expect(await Promise.all(left.map(status))).toEqual([401, 401, 401]);
  const [revocation] = (await read('?action=key.revoke')).entries;
  expect(revocation?.subjects).toEqual([stolen.id, ...[child.id, grandchild.id, other.id].sort()]);
  expect((await read(`?subject=${first.id}`)).entries.map(({ action, actor: by }) => [action, by])).toEqual([
    ['key.revoke', actor],
    ['key.rotate', actor],
    ['key.rotate', actor],
    ['key.create', actor],
  ]);
});

it('refuses an expired key with its expiry, and closes an event stream when its key expires', async () => {
  const { database } = api.database;
  const request = { workspaceId: HOME_WORKSPACE, name: 'brief', scopes: ['read' as const] };
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const { id, key } = await createApiKey(database, { ...request, expiresAt });
  await api.upload(toTranscript('followed', 2));
  await api.work();
  const authorization = `Bearer ${key}`;
  expect((await api.fetch('/v1/sessions', { headers: { authorization } })).status).toBe(200);
  // Long enough for the reader to be admitted on a busy machine.
  const endsAt = new Date(Date.now() + 10_000).toISOString();
  await database.execute(`UPDATE recount.api_keys SET expires_at = '${endsAt}' WHERE id = '${id}'`);
  const events = await api.fetch('/v1/sessions/followed/events?follow=true', { headers: { authorization } });
  expect(events.status).toBe(200);
  await events.text();
  // Timers may fire some milliseconds early.
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(endsAt) - 100);
  const refused = await vi.waitFor(async () => {
    const answer = await api.fetch('/v1/sessions', { headers: { authorization } });
    expect(answer.status).toBe(401);
    return answer;
  });
  expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"');
  const { detail } = await expectProblem(refused, 401, 'expired-key');
  expect(detail).toContain(endsAt);
});
