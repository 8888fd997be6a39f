import type { ApiKeyList, AuditList, DeviceToken, KeyHolderAnswer } from '@recount/contract';
import { createApiKey, revokeApiKey } from '@recount/db';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';

let api: TestApi;
/** An enrolment key without a limit. */
let enrolment: { id: string; key: string };

/** Resets the rate limits for each test. */
beforeEach(async () => {
  api = await createTestApi();
  enrolment = await createEnrolmentKey();
});
afterEach(() => api.close());

const createEnrolmentKey = (more: { machineLimit?: number; expiresAt?: string } = {}) =>
  createApiKey(api.database.database, {
    ...{ workspaceId: HOME_WORKSPACE, name: 'roll-out', scopes: ['enrol'] as const, actor: 'operator:root' as const },
    ...more,
  });
const toMachineId = (name: string): string => Buffer.from(name).toString('hex').padEnd(64, '0');
const ask = (path: string, key: string, body?: object, method = body === undefined ? 'GET' : 'POST') =>
  fetch(api.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
const enrol = (machine: string, { key = enrolment.key, ...more }: { key?: string; person?: string } = {}) =>
  ask('/v1/device/enrol', key, { machine, machine_id: toMachineId(machine), ...more });
const enrolWell = async (machine: string, more: { key?: string; person?: string } = {}): Promise<string> => {
  const answer = await enrol(machine, more);
  expect([200, 201]).toContain(answer.status);
  return ((await answer.json()) as DeviceToken).access_token;
};
const readHolder = async (key: string): Promise<KeyHolderAnswer> =>
  (await (await ask('/v1/key', key)).json()) as KeyHolderAnswer;
const listKeys = async (): Promise<ApiKeyList['keys']> =>
  ((await (await ask('/v1/keys', api.keys.admin)).json()) as ApiKeyList).keys;
const upload = (key: string, person?: string) =>
  fetch(`${api.url}/v1/transcripts${person === undefined ? '' : `?person=${person}`}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson' },
    body: toTranscript(`session-${key.slice(-8)}`, 2),
  });

describe('a machine with an enrolment key', () => {
  it('gets its own key, which uploads and does nothing else', async () => {
    const answer = await enrol('laptop-1', { person: 'ada' });
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([201, 'no-store']);
    const token = (await answer.json()) as DeviceToken;
    expect(token).toEqual({ access_token: expect.stringMatching(/^rk_/), token_type: 'Bearer', scope: 'ingest' });
    const key = token.access_token;
    expect(await readHolder(key)).toMatchObject({ scopes: ['ingest'], person: 'ada', expires_at: null });
    expect((await upload(key, 'mallory')).status).toBe(202);
    for (const path of ['/v1/sessions', '/v1/keys', '/v1/analytics/usage', '/v1/whoami']) {
      await expectProblem(await ask(path, key), 403, 'missing-scope');
    }
    await expectProblem(await enrol('laptop-2', { key }), 403, 'missing-scope');
  });

  it('is listed with its last use, and its secrets and identity nowhere', async () => {
    const key = await enrolWell('laptop-1');
    await readHolder(key);
    await expect
      .poll(async () => (await listKeys()).find(({ name }) => name === 'laptop-1')?.last_used_at)
      .not.toBe(null);
    const keys = await listKeys();
    expect(keys.find(({ name }) => name === 'laptop-1')).toMatchObject({
      enrolled_by: enrolment.id,
      machine_limit: null,
    });
    expect(JSON.stringify(keys)).not.toMatch(new RegExp(`${key}|${enrolment.key}|${toMachineId('laptop-1')}`));
  });

  it('keeps the id of its key when it enrols again, and the old secret ends', async () => {
    const first = await enrolWell('laptop-1', { person: 'ada' });
    const { key_id: id } = await readHolder(first);
    const again = await enrol('laptop-1', { person: 'bob' });
    expect(again.status).toBe(200);
    const second = ((await again.json()) as DeviceToken).access_token;
    await expectProblem(await ask('/v1/key', first), 401, 'invalid-key');
    expect(await readHolder(second)).toMatchObject({ key_id: id, person: 'bob' });
    expect((await listKeys()).filter(({ enrolled_by }) => enrolled_by === enrolment.id)).toHaveLength(1);
  });

  it('has a key named after it, without secrets', async () => {
    const token = `ghp_${'wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx'}`;
    await ask('/v1/device/enrol', enrolment.key, { machine: `runner-${token}`, machine_id: toMachineId('runner') });
    expect((await listKeys()).map(({ name }) => name)).toContain('runner-[REDACTED:github]');
  });

  it('is in the audit log, as the doing of the enrolment key', async () => {
    await enrolWell('laptop-1');
    await enrolWell('laptop-1');
    const { entries } = (await (await ask('/v1/audit', api.keys.admin)).json()) as AuditList;
    const actor = `key:${enrolment.id}`;
    expect(entries.filter((entry) => entry.actor === actor)).toMatchObject([
      { action: 'key.rotate', actor_name: 'roll-out' },
      { action: 'key.create', details: { name: 'laptop-1', scopes: ['ingest'] } },
    ]);
  });

  it('stays out once its own key is revoked, while the others keep theirs', async () => {
    const stolen = await enrolWell('laptop-1');
    const other = await enrolWell('laptop-2');
    const { key_id: id } = await readHolder(stolen);
    expect((await ask(`/v1/keys/${id}`, api.keys.admin, undefined, 'DELETE')).status).toBe(204);
    await expectProblem(await ask('/v1/key', stolen), 401, 'invalid-key');
    await expectProblem(await enrol('laptop-1'), 403, 'machine-refused');
    expect(await readHolder(other)).toMatchObject({ scopes: ['ingest'] });
    const { key } = await createEnrolmentKey();
    await enrolWell('laptop-1', { key });
  });
});

describe('an enrolment key', () => {
  it('does nothing else, and no other key does this', async () => {
    for (const path of ['/v1/sessions', '/v1/keys', '/v1/whoami', '/v1/settings', '/v1/budgets', '/v1/audit']) {
      await expectProblem(await ask(path, enrolment.key), 403, 'missing-scope');
    }
    await expectProblem(await upload(enrolment.key), 403, 'missing-scope');
    await expectProblem(await ask('/v1/sign-in', enrolment.key, {}), 403, 'missing-scope');
    const body = { name: 'more', scopes: ['ingest'] };
    await expectProblem(await ask('/v1/keys', enrolment.key, body), 403, 'missing-scope');
    for (const key of [api.keys.admin, api.keys.ingest, api.keys.read]) {
      await expectProblem(await enrol('laptop-1', { key }), 403, 'missing-scope');
    }
  });

  it('is refused once it has expired, and the machines keep their keys', async () => {
    const machine = await enrolWell('laptop-1');
    await api.database.pool.query("UPDATE recount.api_keys SET expires_at = now() - interval '1 s' WHERE id = $1", [
      enrolment.id,
    ]);
    await expectProblem(await enrol('laptop-2'), 401, 'expired-key');
    expect((await upload(machine)).status).toBe(202);
  });

  it('is refused once it is revoked, and so are the keys that it made, as with any key', async () => {
    const machine = await enrolWell('laptop-1');
    await api.database.withTransaction((transaction) => revokeApiKey(transaction, HOME_WORKSPACE, enrolment.id));
    await expectProblem(await enrol('laptop-2'), 401, 'invalid-key');
    await expectProblem(await upload(machine), 401, 'invalid-key');
  });

  it('has a new secret once it is rotated, and the machines keep their keys', async () => {
    const machine = await enrolWell('laptop-1');
    const rotated = await ask(`/v1/keys/${enrolment.id}/rotate`, api.keys.admin, {});
    const { key } = (await rotated.json()) as { key: string };
    await expectProblem(await enrol('laptop-2'), 401, 'invalid-key');
    await enrolWell('laptop-2', { key });
    expect((await upload(machine)).status).toBe(202);
  });

  it('lets in as many machines as it may, also at the same moment, and a machine that enrols again counts once', async () => {
    const { id, key } = await createEnrolmentKey({ machineLimit: 3 });
    const names = Array.from({ length: 8 }, (_, index) => `laptop-${index}`);
    const answers = await Promise.all(names.map(async (name) => ({ name, answer: await enrol(name, { key }) })));
    const admitted = answers.filter(({ answer }) => answer.status === 201);
    expect([admitted.length, answers.filter(({ answer }) => answer.status === 409).length]).toEqual([3, 5]);
    const [{ name } = { name: '' }] = admitted;
    await enrolWell(name, { key });
    await expectProblem(await enrol('one-more', { key }), 409, 'too-many-machines');
    const gone = (await listKeys()).find(({ enrolled_by }) => enrolled_by === id);
    await ask(`/v1/keys/${gone?.id}`, api.keys.admin, undefined, 'DELETE');
    await enrolWell('one-more', { key });
  });

  it('is limited to 120 machines a minute', async () => {
    const answers: Response[] = [];
    // Refused for their bodies, but counted.
    for (let index = 0; index < 121; index += 1) answers.push(await ask('/v1/device/enrol', enrolment.key, {}));
    expect(answers.slice(0, 120).every(({ status }) => status === 400)).toBe(true);
    const last = answers.at(-1) as Response;
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
    await expectProblem(last, 429, 'too-many-requests');
  });

  it('cannot have another scope, nor another key a limit of machines', async () => {
    const make = (body: object) => ask('/v1/keys', api.keys.admin, { name: 'roll-out', ...body });
    await expectProblem(await make({ scopes: ['enrol', 'read'] }), 400, 'invalid-request');
    await expectProblem(await make({ role: 'viewer', person: 'ada', machine_limit: 3 }), 400, 'invalid-request');
    const made = await make({ role: 'enrol', machine_limit: 1 });
    expect(made.status).toBe(201);
    const { key } = (await made.json()) as { key: string };
    await enrolWell('laptop-1', { key });
    await expectProblem(await enrol('laptop-2', { key }), 409, 'too-many-machines');
  });

  it('lets machines into its own workspace only', async () => {
    const other = await ask('/v1/keys', api.keys.other, { name: 'roll-out', role: 'enrol' });
    const { key } = (await other.json()) as { key: string };
    const machine = await enrolWell('laptop-1', { key });
    expect((await upload(machine)).status).toBe(202);
    expect((await listKeys()).map(({ name }) => name)).not.toContain('laptop-1');
  });
});
