import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { AttachmentReceipt, UploadReceipt } from '@recount/contract';
import { createApiKey, createShare, createSignIn, hashApiKey, listSignIns, revokeApiKey } from '@recount/db';
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
/** Each route has a separate session, because some delete theirs. */
const parameters = new Map<string, Parameters>();

const routes = Object.keys(AUTHORIZATION_TABLE);

beforeAll(async () => {
  api = await createTestApi({ maxFailedKeysPerMinute: 1_000_000 });
  authorizations = await createAuthorizations(api);
  for (const [index, route] of routes.entries()) {
    const sessionId = `private-session-${index}`;
    const receipt = (await (await api.upload(toTranscript(sessionId, 4))).json()) as UploadReceipt;
    const link = /\{(share_id|token)\}/.test(route) ? await createLink(sessionId) : {};
    const transcript = { session_id: sessionId, transcript_id: receipt.transcript_id, byte_offset: '0' };
    const key = { workspaceId: HOME_WORKSPACE, name: 'asked for', scopes: ['ingest' as const] };
    const { id: key_id, key: secret } = await createApiKey(api.database.database, key);
    const attachment = route.includes('/attachments') ? await createAttachment(sessionId) : {};
    const signIn = route.includes('{sign_in_id}') ? await createBrowser(key_id, secret) : {};
    // Its answer echoes the request.
    const named = route.startsWith('PUT /v1/sessions/') ? { session_id: `named-${index}` } : {};
    parameters.set(route, {
      ...transcript,
      key_id,
      workspace_id: HOME_WORKSPACE,
      ...link,
      ...attachment,
      ...signIn,
      ...named,
    });
  }
  await api.work();
});
afterAll(() => api.close());

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

async function createLink(sessionId: string): Promise<{ share_id: string; token: string }> {
  const { share, token } = await createShare(api.database.database, {
    workspaceId: HOME_WORKSPACE,
    sessionId,
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
