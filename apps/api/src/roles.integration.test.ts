import { readFile } from 'node:fs/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { AttachmentReceipt, AuditList, SessionDetail, SessionList, UploadReceipt } from '@recount/contract';
import { type ApiKeyScope, ROLES, TEXT_PARAMETERS } from '@recount/contract/access';
import { changeWorkspaceSettings, createApiKey } from '@recount/db';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REQUEST_BODIES, REQUEST_QUERIES } from './testing/authorization-table.ts';
import { expectProblem } from './testing/expect-problem.ts';
import { newTestStreamId, sendLive } from './testing/live-client.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from './testing/test-api.ts';
import { toLine, toTranscript } from './testing/transcript-lines.ts';

/** The columns of the table in docs/security.md, with the scopes of each. */
const READERS = {
  viewer: ROLES.viewer,
  member: ROLES.member,
  'team-lead': ROLES['team-lead'],
  auditor: ROLES.auditor,
  read: ['read'],
  admin: ROLES.admin,
  operator: ROLES.operator,
} as const satisfies Record<string, readonly ApiKeyScope[]>;
type Reader = keyof typeof READERS;
const READER_NAMES = Object.keys(READERS) as Reader[];

/** Everyone's texts contain it, with the person's name. */
const CANARY = 'canary-of-';
const OWNERS = ['ann', 'bob'] as const;
type Owner = (typeof OWNERS)[number];

interface OwnIds extends Record<string, string> {
  session_id: string;
  transcript_id: string;
  attachment_id: string;
}

let api: TestApi;
const keys = new Map<Reader, string>();
const ids = new Map<Owner, OwnIds>();

beforeAll(async () => {
  api = await createTestApi();
  const { database } = api.database;
  for (const name of READER_NAMES) {
    const person = name === 'operator' ? null : 'ann';
    const key = { workspaceId: HOME_WORKSPACE, name, scopes: READERS[name], person };
    keys.set(name, (await createApiKey(database, key)).key);
  }
  for (const owner of OWNERS) ids.set(owner, await addSession(owner));
  await api.work();
  for (const owner of OWNERS) {
    const body = {
      given_title: `${CANARY}${owner} title`,
      tags: [`${CANARY}${owner}`],
      note: `${CANARY}${owner} note`,
    };
    const headers = { 'content-type': 'application/json' };
    const path = `/v1/sessions/session-of-${owner}`;
    expect((await api.fetch(path, { method: 'PATCH', headers, body: JSON.stringify(body) })).status).toBe(200);
  }
});
afterAll(() => api.close());

/** A session with texts wherever a transcript can have them, an attachment, and a stream that ended with an error. */
async function addSession(owner: Owner): Promise<OwnIds> {
  const session = `session-of-${owner}`;
  const canary = `${CANARY}${owner}`;
  const usage = { input_tokens: 10, output_tokens: 20 };
  const say = (index: number, content: unknown) =>
    toLine(session, index, { type: 'user', message: { role: 'user', content } });
  const call = (index: number, name = 'Read', more = {}) => {
    const input = { file_path: `/code/${canary}.ts`, ...more };
    const content = [
      { type: 'thinking', thinking: `${canary} thinks` },
      { type: 'text', text: `${canary} answers` },
      { type: 'tool_use', id: `call-${owner}-${index}`, name, input },
    ];
    const message = { id: `msg-${owner}-${index}`, role: 'assistant', model: 'claude-sonnet-4-5', content, usage };
    return toLine(session, index, { type: 'assistant', requestId: `req-${owner}-${index}`, message });
  };
  const result = (index: number) =>
    say(index, [{ type: 'tool_result', tool_use_id: `call-${owner}-${index - 1}`, content: `${canary} result` }]);
  const error = toLine(session, 20, { type: 'system', subtype: 'api_error', error: { status: 529 }, content: canary });
  const reads = [1, 3, 5, 7].flatMap((index) => [call(index), result(index + 1)]);
  const edit = call(9, 'Edit', { old_string: canary, new_string: `${canary} new` });
  const lines = [say(0, `${canary} prompt`), ...reads, edit, result(10), error];
  const origin = { person: owner, machine: `laptop of ${owner}`, path: `/${canary}/${session}.jsonl` };
  const uploaded = await api.upload(lines.join(''), origin);
  expect(uploaded.status).toBe(202);
  const ofAgent = { isSidechain: true, agentId: `of-${owner}` };
  const task = toLine(session, 30, { type: 'user', message: { role: 'user', content: `${canary} task` }, ...ofAgent });
  await api.upload(task, { person: owner, path: `/${canary}/${session}/subagents/agent-of-${owner}.jsonl` });
  const query = new URLSearchParams({ agent: 'claude-code', path: `tool-results/${canary}.txt`, person: owner });
  const attached = await api.fetch(`/v1/sessions/${session}/attachments?${query}`, { method: 'PUT', body: canary });
  const end = {
    type: 'result',
    subtype: 'error',
    is_error: true,
    result: `${canary} failed`,
    session_id: `live-of-${owner}`,
  };
  await sendLive(
    { url: api.url, key: api.keys.ingest },
    `live-of-${owner}`,
    `${JSON.stringify({ type: 'user', session_id: `live-of-${owner}`, message: { role: 'user', content: canary } })}\n${JSON.stringify(end)}\n`,
    { 'recount-stream': newTestStreamId(), 'recount-complete': '?1' },
    { person: owner },
  );
  return {
    session_id: session,
    transcript_id: ((await uploaded.json()) as UploadReceipt).transcript_id,
    attachment_id: ((await attached.json()) as AttachmentReceipt).attachment.id,
  };
}

/** Whatever a route changes, it must not be what the next request reads. */
const NOTHING: Readonly<Record<string, string>> = {
  key_id: 'none',
  sign_in_id: 'none',
  provider_id: 'none',
  share_id: 'none',
  token: 'none',
  workspace_id: HOME_WORKSPACE,
  byte_offset: '0',
  session_id: 'none',
  transcript_id: '01J00000000000000000000009',
  kind: 'cold-cache',
};
const QUERIES: Readonly<Record<string, string>> = {
  ...REQUEST_QUERIES,
  'GET /v1/search': `?q="canary of"`,
  'GET /v1/live': '?state=all',
  'GET /v1/sessions/{session_id}/events': '?follow=false',
  'GET /v1/analytics/usage': '?group_by=session,person',
};

type Reveals = 'nothing' | 'figures' | 'texts';

interface Route {
  name: string;
  reveals: Reveals;
  method: string;
  path: string;
  /** True if its path names a session, a transcript or a file of one. */
  isOfSession: boolean;
}

async function listRoutes(): Promise<Route[]> {
  const document = (await (await api.fetch('/openapi.json')).json()) as {
    paths: Record<string, Record<string, { 'x-reveals': Reveals }>>;
  };
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { 'x-reveals': reveals }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      reveals,
      method: method.toUpperCase(),
      path,
      isOfSession: /\{(session_id|transcript_id)\}/.test(path),
    })),
  );
}

function toUrl({ name, method, path }: Route, owner: Owner): string {
  const isKept = method === 'DELETE' || name.endsWith('/reparse') || name.startsWith('PATCH /v1/transcripts');
  const isLive = /\/(events|live|checkpoints)$/.test(path) && path.startsWith('/v1/sessions/');
  const known: Readonly<Record<string, string>> = {
    ...NOTHING,
    ...(isKept ? {} : ids.get(owner)),
    ...(isLive && { session_id: `live-of-${owner}` }),
  };
  return api.url + path.replace(/\{(\w+)\}/g, (_match, key: string) => known[key] ?? 'none') + (QUERIES[name] ?? '');
}

async function ask(route: Route, reader: Reader, owner: Owner): Promise<{ isRefused: boolean; text: string }> {
  const body = REQUEST_BODIES[route.name]?.(`${reader}-${owner}`);
  const headers = {
    authorization: `Bearer ${keys.get(reader)}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const response = await fetch(toUrl(route, owner), {
    method: route.method,
    headers,
    ...(body !== undefined && { body }),
  });
  return { isRefused: response.status === 403, text: await readText(response) };
}

/** The whole answer; of one without an end, the first event. */
async function readText(response: Response): Promise<string> {
  if (!response.url.includes('/v1/live/events')) return await response.text();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes('\ndata:') || response.status !== 200) break;
  }
  return text;
}

/** One cell for an answer: `–` is refused. */
function toCell({ isRefused, text }: { isRefused: boolean; text: string }, owner: Owner, reveals: Reveals): string {
  if (isRefused) return '–';
  if (text.includes(CANARY + owner)) return 'texts';
  return reveals === 'nothing' ? 'yes' : reveals === 'figures' ? 'figures' : 'nothing';
}

/** The cell of both owners, one's own and another's: one word if they agree. */
const join = (own: string, other: string): string => (own === other ? own : `${own} / ${other}`);

/** The table in docs/security.md, by route or tool, in the order of READER_NAMES. */
async function readTable(): Promise<Record<string, string[]>> {
  const text = await readFile(new URL('../../../docs/security.md', import.meta.url), 'utf8');
  const rows = text
    .slice(text.indexOf('<!-- roles -->'), text.indexOf('<!-- /roles -->'))
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const [heads = [], , ...lines] = rows;
  expect(heads.slice(1)).toEqual(READER_NAMES);
  const named = lines.flatMap(([names = '', ...cells]) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']): [string, string[]] => [name, cells]),
  );
  expect(named.length, 'each route once').toBe(new Map(named).size);
  return Object.fromEntries(named);
}

const toReveals = (tool: string): Reveals => (/^(search|get_messages)/.test(tool) ? 'texts' : 'figures');

describe('roles', () => {
  it('shows each role what docs/security.md says, on every route', async () => {
    const found: Record<string, string[]> = {};
    for (const route of await listRoutes()) {
      const { reveals } = route;
      expect(reveals, route.name).toBeDefined();
      found[route.name] = [];
      for (const reader of READER_NAMES) {
        const own = await ask(route, reader, 'ann');
        const other = route.isOfSession ? await ask(route, reader, 'bob') : own;
        found[route.name]?.push(join(toCell(own, 'ann', reveals), toCell(other, 'bob', reveals)));
      }
    }
    const { tools, routes } = splitTools(await readTable());
    expect(found).toEqual(routes);
    expect(Object.keys(tools).length).toBeGreaterThan(0);
  });

  it('shows each role what docs/security.md says, by every MCP tool', async () => {
    const { tools } = splitTools(await readTable());
    const found: Record<string, string[]> = {};
    for (const reader of READER_NAMES) {
      const client = await connect(reader);
      const names =
        client === undefined ? Object.keys(found) : (await client.listTools()).tools.map(({ name }) => name);
      for (const name of names) {
        const cells: string[] = [];
        for (const owner of OWNERS) {
          const input = { session_id: `session-of-${owner}`, query: '"canary of"', group_by: 'session,person' };
          const answer = await client?.callTool({ name, arguments: pickInput(name, input) });
          const isRefused = answer === undefined || answer.isError === true;
          cells.push(toCell({ isRefused, text: JSON.stringify(answer ?? '') }, owner, toReveals(name)));
        }
        const [own = '', other = ''] = cells;
        found[name] = [...(found[name] ?? []), join(own, other)];
      }
      await client?.close();
    }
    expect(found).toEqual(tools);
  });
});

/** A key of a person with these scopes, and requests with it. */
async function makeKey(name: string, scopes: readonly ApiKeyScope[], person: string | null = 'ann') {
  const made = await createApiKey(api.database.database, { workspaceId: HOME_WORKSPACE, name, scopes, person });
  const get = (path: string): Promise<Response> =>
    fetch(api.url + path, { headers: { authorization: `Bearer ${made.key}` } });
  return { id: made.id, get };
}

async function withPolicy(
  policy: Parameters<typeof changeWorkspaceSettings>[2],
  work: () => Promise<void>,
): Promise<void> {
  const { database } = api.database;
  await changeWorkspaceSettings(database, HOME_WORKSPACE, policy);
  try {
    await work();
  } finally {
    await changeWorkspaceSettings(database, HOME_WORKSPACE, { textReaders: 'readers', namesFromPeople: null });
  }
}

describe('texts', () => {
  it('cannot be guessed by filters that compare with them', async () => {
    const { get } = await makeKey('guesses', ['figures', 'own']);
    expect([...TEXT_PARAMETERS].length).toBeGreaterThan(0);
    for (const filter of ['prompt=canary-of', `tag=${CANARY}bob`, `file=/code/${CANARY}bob.ts`]) {
      const { sessions } = (await (await get(`/v1/sessions?${filter}`)).json()) as SessionList;
      expect(
        sessions.map(({ session_id }) => session_id),
        filter,
      ).not.toContain('session-of-bob');
    }
    await expectProblem(await get('/v1/sessions/session-of-bob/outline?contains=canary'), 403, 'missing-scope');
    const figures = await makeKey('figures', ['figures']);
    await expectProblem(await figures.get('/v1/sessions?prompt=canary'), 403, 'missing-scope');
    await expectProblem(await figures.get('/v1/search?q=canary'), 403, 'missing-scope');
  });

  it('belong to one person, if a key has the scope own alone', async () => {
    const { get } = await makeKey('own', ['own']);
    const list = await (await get('/v1/sessions')).text();
    expect(list).toContain('session-of-ann');
    expect(list).not.toContain('session-of-bob');
    expect((await get('/v1/sessions/session-of-ann/messages')).status).toBe(200);
    expect((await get('/v1/export/usage')).status).toBe(200);
    expect(await (await get('/v1/export/sessions?format=ndjson')).text()).not.toContain('session-of-bob');
    for (const path of ['/v1/analytics/usage', '/v1/sessions/session-of-bob', '/v1/transcripts', '/v1/live']) {
      await expectProblem(await get(path), 403, 'missing-scope');
    }
    const nameless = await makeKey('nameless', ['own'], null);
    await expectProblem(await nameless.get('/v1/sessions'), 403, 'missing-scope');
  });

  it('stay another person’s if they come as a version or sub-agent of one’s session', async () => {
    const { get } = await makeKey('guest', ['figures', 'own']);
    const other = await createApiKey(api.database.database, {
      ...{ workspaceId: HOME_WORKSPACE, name: 'carl', scopes: ['ingest'], person: 'carl' },
    });
    const headers = { authorization: `Bearer ${other.key}`, 'content-type': 'application/x-ndjson' };
    const say = (text: string, more = {}) =>
      toLine('session-of-ann', 40, {
        type: 'user',
        message: { role: 'user', content: `${CANARY}carl ${text}` },
        ...more,
      });
    const version = (await (await api.upload(say('diverged'), {}, { headers })).json()) as UploadReceipt;
    const path = '/x/session-of-ann/subagents/agent-of-carl.jsonl';
    await api.upload(say('agent', { isSidechain: true, agentId: 'of-carl' }), { path }, { headers });
    await api.work();
    const all = await makeKey('all', ['read']);
    expect(await (await all.get('/v1/sessions/session-of-ann/document')).text()).toContain(`${CANARY}carl`);
    expect(await (await get('/v1/sessions/session-of-ann/document')).text()).not.toContain(`${CANARY}carl`);
    const id = version.transcript_id;
    for (const place of [`transcripts/${id}/raw`, `sessions/session-of-ann/messages?transcript_id=${id}`]) {
      await expectProblem(await get(`/v1/${place}`), 403, 'missing-scope');
    }
  });

  it('are one’s own under all names that an admin has given to the person', async () => {
    const say = { type: 'user', message: { role: 'user', content: `${CANARY}dora` } };
    await api.upload(toLine('session-of-dora', 0, say), { person: 'dora-laptop' });
    await api.work();
    const { get } = await makeKey('dora', ROLES.viewer, 'dora@example.org');
    const read = async (): Promise<string[]> =>
      await Promise.all(['sessions', 'search?q=canary'].map(async (path) => await (await get(`/v1/${path}`)).text()));
    for (const text of await read()) expect(text).not.toContain(`${CANARY}dora`);
    const body = JSON.stringify({ display_name: 'Dora', names: ['dora@example.org', 'Dora-Laptop'] });
    const headers = { 'content-type': 'application/json' };
    expect((await api.fetch('/v1/people', { method: 'POST', headers, body })).status).toBe(201);
    for (const text of await read()) expect(text).toContain(`${CANARY}dora`);
    expect((await get('/v1/sessions/session-of-dora/messages')).status).toBe(200);
    await expectProblem(await get('/v1/sessions/session-of-bob/messages'), 403, 'missing-scope');
  });

  it('are shown to auditors alone if the workspace says so, and to their owner', async () => {
    await withPolicy({ textReaders: 'auditors' }, async () => {
      for (const [name, scopes] of [
        ['reads', ['read']],
        ['administers', ['admin']],
      ] as const) {
        const { get } = await makeKey(name, scopes);
        await expectProblem(await get('/v1/sessions/session-of-bob/messages'), 403, 'missing-scope');
        expect(await (await get('/v1/sessions')).text()).not.toContain(`${CANARY}bob`);
        expect(await (await get('/v1/sessions/session-of-ann/messages')).text()).toContain(`${CANARY}ann`);
      }
      const { get } = await makeKey('audits', ROLES.auditor);
      expect(await (await get('/v1/sessions/session-of-bob/messages')).text()).toContain(`${CANARY}bob`);
      const share = await api.fetch('/v1/sessions/session-of-bob/share', {
        ...{ method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } },
      });
      await expectProblem(share, 403, 'missing-scope');
    });
  });
});

describe('reads of others’ texts', () => {
  it('are in the audit log, once an hour for each reader and session, with the reader’s name', async () => {
    const readAsEve = async () => {
      const { id, get } = await makeKey('dashboard of Eve', ROLES.auditor, 'eve');
      const readLog = async () =>
        ((await (await api.fetch(`/v1/audit?actor=key:${id}&kind=reads`)).json()) as AuditList).entries;
      await get('/v1/analytics/tools');
      const ofFigures = await readLog();
      for (const path of ['messages', 'document', 'messages']) await get(`/v1/sessions/session-of-bob/${path}`);
      const ofSession = await readLog();
      await get('/v1/search?q="canary of"');
      await get('/v1/sessions');
      await get('/v1/export/sessions');
      return { ofFigures, ofSession, ofAll: await readLog() };
    };
    const toHour = (): number => Math.floor(Date.now() / 3_600_000);
    let hour = toHour();
    let log = await readAsEve();
    // An hour that ends between the reads has another entry.
    for (; hour !== toHour(); log = await readAsEve()) hour = toHour();
    expect(log.ofFigures).toEqual([]);
    const entry = { action: 'texts.read', actor_name: 'dashboard of Eve', actor_person: 'eve', details: {} };
    expect(log.ofSession).toMatchObject([
      // A document has the sub-agents, too.
      { ...entry, subjects: ['session-of-bob:of-bob'] },
      { ...entry, subjects: ['session-of-bob'] },
    ]);
    const subjects = log.ofAll.flatMap((each) => each.subjects);
    expect(subjects).toContain('session-of-ann');
    expect(new Set(subjects).size).toBe(subjects.length);
    const changes = (await (await api.fetch('/v1/audit?kind=changes')).json()) as AuditList;
    expect(changes.entries.map(({ action }) => action)).not.toContain('texts.read');
  });

  it('are not logged for one’s own sessions, nor for figures', async () => {
    const { id, get } = await makeKey('dashboard of Ann', ROLES.viewer);
    for (const path of ['sessions', 'sessions/session-of-ann/messages', 'search?q=canary', 'analytics/files']) {
      expect((await get(`/v1/${path}`)).status).toBe(200);
    }
    expect(await (await api.fetch(`/v1/audit?actor=key:${id}&kind=reads`)).json()).toMatchObject({ entries: [] });
  });
});

describe('names', () => {
  it('are pseudonyms in workspaces of fewer people than the policy says, and stay usable as filters', async () => {
    await withPolicy({ namesFromPeople: 50 }, async () => {
      const { get } = await makeKey('sees pseudonyms', ROLES.viewer);
      const usage = await (await get('/v1/analytics/usage?group_by=person,machine')).text();
      expect(usage).toContain('"person":"ann"');
      expect(usage).not.toMatch(/bob/);
      for (const path of ['sessions', 'transcripts', 'export/sessions', 'sessions/session-of-bob', 'live?state=all']) {
        expect((await (await get(`/v1/${path}`)).text()).replaceAll(/(of|member|admin)-bob/g, ''), path).not.toMatch(
          /bob/,
        );
      }
      const { person } = (await (await get('/v1/sessions/session-of-bob')).json()) as SessionDetail;
      expect(person).toMatch(/^person-[0-9a-f]{10}$/);
      const { sessions } = (await (await get(`/v1/sessions?person=${person}`)).json()) as SessionList;
      expect(sessions.map(({ session_id }) => session_id)).toContain('session-of-bob');
      for (const name of ['bob', 'person-0000000000']) {
        await expectProblem(await get(`/v1/export/usage?person=${name}`), 403, 'missing-scope');
      }
      const auditor = await makeKey('audits names', ROLES.auditor);
      expect(await (await auditor.get('/v1/analytics/usage?group_by=person')).text()).toContain('bob');
    });
    await withPolicy({ namesFromPeople: 1 }, async () => {
      const { get } = await makeKey('sees names', ROLES.viewer);
      const add = async (path: string, body: object): Promise<void> => {
        const headers = { 'content-type': 'application/json' };
        expect((await api.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })).status).toBe(201);
      };
      await add('/v1/teams', { name: 'Team of Bob' });
      await add('/v1/people', { display_name: 'bob', team: 'Team of Bob' });
      expect(await (await get('/v1/analytics/usage?group_by=person')).text()).toContain('bob');
    });
  });

  it('stay hidden, however many names uploaders invent, once the workspace knows people', async () => {
    await withPolicy({ namesFromPeople: 5 }, async () => {
      const { get } = await makeKey('waits for names', ROLES.viewer);
      for (let index = 0; index < 5; index++)
        await api.upload(toTranscript(`invented-${index}`, 2), { person: `invented ${index}` });
      await api.work();
      expect(await (await get('/v1/analytics/usage?group_by=person')).text()).not.toContain('bob');
    });
  });
});

const splitTools = (table: Record<string, string[]>) => ({
  tools: Object.fromEntries(Object.entries(table).filter(([name]) => !name.includes(' '))),
  routes: Object.fromEntries(Object.entries(table).filter(([name]) => name.includes(' '))),
});

const pickInput = (name: string, { session_id, query, group_by }: Record<string, string>): Record<string, unknown> =>
  name.startsWith('search')
    ? { query }
    : name === 'get_usage_summary'
      ? { group_by }
      : name === 'list_sessions'
        ? {}
        : { session_id };

async function connect(reader: Reader): Promise<Client | undefined> {
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${keys.get(reader)}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${api.url}/mcp`), { requestInit });
  try {
    await client.connect(transport as Parameters<Client['connect']>[0]);
    return client;
  } catch {
    return undefined;
  }
}
