import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { AttachmentReceipt, UploadReceipt } from '@recount/contract';
import {
  type ApiKeyScope,
  addressFindings,
  createApiKey,
  createPerson,
  createShare,
  createSignIn,
  createSignInLink,
  createTeam,
  hashApiKey,
  listSignIns,
  mergePerson,
  revokeApiKey,
  settleDelivery,
} from '@recount/db';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiApp } from './app.ts';
import { readApiConfig } from './config.ts';
import {
  AUTHORIZATION_TABLE,
  CREDENTIALS,
  type Credential,
  REQUEST_BODIES,
  REQUEST_QUERIES,
} from './testing/authorization-table.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from './testing/test-api.ts';
import { toTranscript } from './testing/transcript-lines.ts';

type Parameters = Readonly<Record<string, string>>;
type Statuses = Record<string, Partial<Record<Credential, number>>>;

let api: TestApi;
let authorizations: Record<Credential, string | undefined>;
/** Each route about a session or a key has a separate one, because some delete theirs. */
const parameters = new Map<string, Parameters>();

const routes = Object.keys(AUTHORIZATION_TABLE);

beforeAll(async () => {
  api = await createTestApi({ maxFailedKeysPerMinute: 1_000_000 });
  authorizations = await createAuthorizations(api);
  const common = await uploadSession('private-session');
  const commonKey = await createTestKey();
  for (const [index, route] of routes.entries()) {
    const isOfSession = /\{(session_id|transcript_id|share_id|token)\}/.test(route);
    const sessionId = isOfSession ? `private-session-${index}` : 'private-session';
    const receipt = isOfSession ? await uploadSession(sessionId) : common;
    const link = /\{(share_id|token)\}/.test(route) ? await createLink(sessionId) : {};
    const transcript = { session_id: sessionId, transcript_id: receipt.transcript_id, byte_offset: '0' };
    const isOfKey = /\{(key_id|sign_in_id)\}/.test(route);
    const { id: key_id, key: secret } = isOfKey ? await createKeyFor(route) : commonKey;
    const attachment = route.includes('/attachments') ? await createAttachment(sessionId) : {};
    const signIn = route.includes('{sign_in_id}') ? await createBrowser(key_id, secret) : {};
    const budget = route.includes('{budget_id}') ? await createTestBudget(`budget-${index}`) : {};
    const decision = /\/findings\/.*\{/.test(route) ? await decideOnFinding(route) : {};
    const people = /\{(person|team)_id\}/.test(route) ? await createPeople(`private-session-${index}`) : {};
    const alert = /\{(destination|delivery)_id\}/.test(route) ? await createTestAlert(`alert-${index}`) : {};
    const digest = route.includes('{digest_id}') ? await createTestDigest(`digest-${index}`) : {};
    const rename = route.includes('{rename_id}') ? await createRename() : {};
    // Its answer echoes the request.
    const named = route.startsWith('PUT /v1/sessions/') ? { session_id: `named-${index}` } : {};
    parameters.set(route, {
      ...transcript,
      key_id,
      workspace_id: HOME_WORKSPACE,
      provider_id: 'none',
      ...link,
      ...attachment,
      ...signIn,
      ...budget,
      ...digest,
      ...rename,
      ...people,
      ...alert,
      ...named,
      ...decision,
    });
  }
  await api.work();
});
afterAll(() => api.close());

const uploadSession = async (sessionId: string): Promise<UploadReceipt> =>
  (await (await api.upload(toTranscript(sessionId, 4))).json()) as UploadReceipt;

interface KeyRights {
  scopes: readonly ApiKeyScope[];
  account?: { issuer: string; subject: string };
}

const createTestKey = (request: KeyRights = { scopes: ['ingest'] }): Promise<{ id: string; key: string }> =>
  createApiKey(api.database.database, { workspaceId: HOME_WORKSPACE, name: 'asked for', ...request });

/** A key that the route can be used on. */
async function createKeyFor(route: string): Promise<{ id: string; key: string }> {
  const { database } = api.database;
  if (route.endsWith('/restore')) {
    const made = await createTestKey({ scopes: ['read'], account: { issuer: 'https://id.example', subject: route } });
    await revokeApiKey(database, HOME_WORKSPACE, made.id);
    return made;
  }
  if (!route.endsWith('/sign-in-link')) return await createTestKey();
  const made = await createTestKey({ scopes: ['read'] });
  const link = { workspaceId: HOME_WORKSPACE, keyId: made.id, validMs: 3_600_000, by: null, endsAt: null };
  if (route.startsWith('DELETE')) await createSignInLink(database, { ...link, actor: 'system' });
  return made;
}

async function createAttachment(sessionId: string): Promise<{ attachment_id: string }> {
  const path = `/v1/sessions/${sessionId}/attachments?agent=claude-code&path=tool-results/b0.txt`;
  const response = await api.fetch(path, { method: 'PUT', body: 'private-session attachment' });
  const { attachment } = (await response.json()) as AttachmentReceipt;
  return { attachment_id: attachment.id };
}

async function createBrowser(keyId: string, key: string): Promise<{ sign_in_id: string }> {
  const { database } = api.database;
  const keyHash = hashApiKey(key);
  await createSignIn(database, { workspaceId: HOME_WORKSPACE, keyId, keyHash, browser: null });
  const signIns = await listSignIns(database, HOME_WORKSPACE);
  return { sign_in_id: signIns.find((each) => each.key_id === keyId)?.id ?? '' };
}

/** A destination with a message that was given up. */
async function createTestAlert(name: string): Promise<{ destination_id: string; delivery_id: string }> {
  const post = async (path: string, body: object): Promise<{ id: string }> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await api.fetch(path, { method: 'POST', body: JSON.stringify(body), headers });
    return (await answer.json()) as { id: string };
  };
  const destination = await post('/v1/destinations', { name, kind: 'email', addresses: ['ada@example.org'] });
  const delivery = await post(`/v1/destinations/${destination.id}/test`, {});
  const outcome = { state: 'failed' as const, attempts: 17, failure_reason: 'refused', ended_at: null };
  const place = { workspace_id: HOME_WORKSPACE, id: delivery.id };
  const next_attempt_at = new Date().toISOString();
  await settleDelivery(api.database.database, place, { ...outcome, next_attempt_at });
  return { destination_id: destination.id, delivery_id: delivery.id };
}

async function createTestDigest(name: string): Promise<{ digest_id: string }> {
  const body = JSON.stringify({ name });
  const headers = { 'content-type': 'application/json' };
  const answer = await api.fetch('/v1/digests', { method: 'POST', body, headers });
  return { digest_id: ((await answer.json()) as { id: string }).id };
}

async function createTestBudget(name: string): Promise<{ budget_id: string }> {
  const body = JSON.stringify({ name, amount: 100 });
  const headers = { 'content-type': 'application/json' };
  const answer = await api.fetch('/v1/budgets', { method: 'POST', body, headers });
  return { budget_id: ((await answer.json()) as { id: string }).id };
}

async function createRename(): Promise<{ rename_id: string }> {
  const repository = 'example.com/crane';
  await api.upload(toTranscript('private-session-renamed', 4), { repository: `https://${repository}.git` });
  await api.work();
  const body = JSON.stringify({ repositories: [repository], new_name: 'heron' });
  const headers = { 'content-type': 'application/json' };
  const answer = await api.fetch('/v1/repository-renames', { method: 'POST', body, headers });
  const { renames } = (await answer.json()) as { renames: { id: string }[] };
  return { rename_id: renames[0]?.id ?? '' };
}

async function decideOnFinding(route: string): Promise<{ dismissal_id: string } | { kind: string }> {
  if (route.endsWith('{kind}')) {
    const decision = { workspaceId: HOME_WORKSPACE, actor: 'system' } as const;
    const mark = { kind: 'repeated-read', since: '2026-01-01', note: null } as const;
    await api.database.withTransaction((transaction) => addressFindings(transaction, decision, mark));
    // The other route changes what it is asked for, in every workspace.
    return { kind: route.startsWith('PUT') ? 'cold-cache' : mark.kind };
  }
  const { rows } = await api.database.pool.query<{ id: string }>(
    `INSERT INTO recount.finding_dismissals (workspace_id, id, kind, subject_type, subject, dismissed_by)
      VALUES ($1, 'private-dismissal', 'cold-cache', 'session', $2, 'system') ON CONFLICT DO NOTHING RETURNING id`,
    [HOME_WORKSPACE, route],
  );
  return { dismissal_id: rows[0]?.id ?? '' };
}

/** A team, and a person who is merged into another. */
async function createPeople(name: string): Promise<{ person_id: string; team_id: string }> {
  const scope = { workspaceId: HOME_WORKSPACE, actor: 'system' as const };
  return await api.database.withTransaction(async (transaction) => {
    const into = await createPerson(transaction, scope, { displayName: `${name} whole` });
    const personId = await createPerson(transaction, scope, { displayName: name });
    await mergePerson(transaction, scope, { id: personId, into });
    return { person_id: personId, team_id: await createTeam(transaction, scope, { name }) };
  });
}

async function createLink(sessionId: string): Promise<{ share_id: string; token: string }> {
  const { share, token } = await createShare(api.database.database, {
    workspaceId: HOME_WORKSPACE,
    sessionId,
    view: null,
    page: gzipSync('<p>shared</p>'),
    fromLine: null,
    toLine: null,
    isSanitized: false,
    expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
    actor: 'system',
  });
  return { share_id: share.id, token };
}

async function createAuthorizations({ database: { database }, keys }: TestApi): Promise<typeof authorizations> {
  const scopes = ['admin' as const];
  const revoked = await createApiKey(database, { workspaceId: HOME_WORKSPACE, name: 'revoked', scopes });
  await revokeApiKey(database, HOME_WORKSPACE, revoked.id);
  const toBearer = (key: string): string => `Bearer ${key}`;
  return {
    none: undefined,
    malformed: toBearer('rk_malformed'),
    wrong: toBearer(`rk_${randomBytes(32).toString('base64url')}`),
    revoked: toBearer(revoked.key),
    ingest: toBearer(keys.ingest),
    read: toBearer(keys.read),
    admin: toBearer(keys.admin),
    other: toBearer(keys.other),
  };
}

function toPath(route: string): string {
  const [, pattern = ''] = route.split(' ');
  const known = parameters.get(route) ?? {};
  const path = pattern.replace(/\{(\w+)\}/g, (_match, name: string) => {
    const value = known[name];
    if (value === undefined) throw new Error(`Give the parameter ${name} of ${route} a value that is there`);
    return encodeURIComponent(value);
  });
  return path + (REQUEST_QUERIES[route] ?? '');
}

async function ask(route: string, credential: Credential, method = route.split(' ')[0] ?? ''): Promise<Response> {
  const authorization = authorizations[credential];
  const body = REQUEST_BODIES[route]?.(`${credential}-upload`);
  const headers = {
    ...(authorization !== undefined && { authorization }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  return await fetch(api.url + toPath(route), { method, headers, ...(body !== undefined && { body }) });
}

/** The answer's text; empty for an endless one. */
async function readText(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return await response.text();
  await response.body?.cancel();
  return '';
}

/** The cells of the table that are, or are not, refusals. */
function toExpected(isRefused: boolean): Statuses {
  return Object.fromEntries(
    Object.entries(AUTHORIZATION_TABLE).map(([route, statuses]) => [
      route,
      Object.fromEntries(
        CREDENTIALS.map((credential, index) => [credential, statuses[index] ?? 0] as const).filter(
          ([, status]) => status >= 400 === isRefused,
        ),
      ),
    ]),
  );
}

async function askAll(expected: Statuses): Promise<{ statuses: Statuses; texts: Map<string, string> }> {
  const statuses: Statuses = {};
  const texts = new Map<string, string>();
  for (const [route, cells] of Object.entries(expected)) {
    const row: Statuses[string] = {};
    for (const credential of CREDENTIALS.filter((candidate) => cells[candidate] !== undefined)) {
      const response = await ask(route, credential);
      row[credential] = response.status;
      texts.set(`${route} ${credential}`, await readText(response));
    }
    statuses[route] = row;
  }
  return { statuses, texts };
}

/** A digest of every table except the keys (which record their use), and of the store's contents. */
async function readState(): Promise<unknown> {
  const { pool } = api.database;
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT quote_ident(table_name) AS name FROM information_schema.tables
     WHERE table_schema = 'recount' AND table_type = 'BASE TABLE' AND table_name <> 'api_keys' ORDER BY 1`,
  );
  const digests = [];
  for (const { name } of tables) {
    const digest = `SELECT '${name}' AS name, md5(string_agg(row::text, ',' ORDER BY row::text)) AS digest FROM recount.${name} AS row`;
    digests.push((await pool.query(digest)).rows[0]);
  }
  return { digests, store: await api.listStore() };
}

describe('authorization', () => {
  it('lists every route, and only routes that exist', async () => {
    const document = (await (await api.fetch('/openapi.json')).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documented.sort()).toEqual([...routes].sort());
  });

  it('registers only routes that the OpenAPI document describes', async () => {
    const environment = { DATABASE_URL: api.connectionString, RECOUNT_RAW_STORE: api.storeDirectory };
    const { database, rawStore } = api;
    const deps = { database, rawStore, log: pino({ level: 'silent' }) };
    const app = await createApiApp(deps, readApiConfig(environment));
    const handler = async (): Promise<string> => 'everything';
    for (const path of ['/v1/everything', '/everything', '/', '/healthz/everything', '/docsx']) {
      expect(() => app.get(path, handler), path).toThrow('names no scope');
    }
    await app.close();
  });

  it('refuses everyone without the right, and changes nothing', async () => {
    const before = await readState();
    const expected = toExpected(true);
    const { statuses, texts } = await askAll(expected);
    expect(statuses).toEqual(expected);
    for (const [name, text] of texts) {
      for (const secret of ['private-session', 'prompt 0']) expect(text, name).not.toContain(secret);
    }
    expect(await readState()).toEqual(before);
  });

  it('requires the same for HEAD as for GET', async () => {
    for (const route of routes.filter((candidate) => candidate.startsWith('GET '))) {
      const [status] = AUTHORIZATION_TABLE[route] ?? [];
      // 405 if the route has no HEAD.
      expect([status, 405], route).toContain((await ask(route, 'none', 'HEAD')).status);
    }
  });

  it('admits everyone with the right, and shows nothing of another workspace', async () => {
    const expected = toExpected(false);
    const { statuses, texts } = await askAll(expected);
    expect(statuses).toEqual(expected);
    for (const [name, text] of texts) {
      if (name.endsWith(' other')) expect(text, name).not.toMatch(/private-session|prompt 0/);
    }
    expect(texts.get('GET /v1/sessions admin')).toContain('private-session');
  });
});
