import type {
  AttachmentList,
  AttachmentReceipt,
  AuditList,
  SearchResultList,
  SessionDetail,
  UploadReceipt,
} from '@recount/contract';
import { ROLES, type Role } from '@recount/contract/access';
import { createApiKey } from '@recount/db';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newTestStreamId, readStory, sendLive } from './testing/live-client.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from './testing/test-api.ts';
import { toLine } from './testing/transcript-lines.ts';

const SECRET = 'canary-of-bob';

let api: TestApi;
const keys = new Map<string, string>();
beforeAll(async () => {
  api = await createTestApi();
  for (const person of ['ann', 'bob']) {
    const key = { workspaceId: HOME_WORKSPACE, name: person, person, scopes: ROLES.member };
    keys.set(person, (await createApiKey(api.database.database, key)).key);
  }
});
afterAll(() => api?.close());

const as = (person: string) => ({ headers: { authorization: `Bearer ${keys.get(person)}` } });

async function upload(person: string, session: string, text: string): Promise<string> {
  const response = await api.upload(text, { path: `/${person}/${session}.jsonl` }, as(person));
  expect(response.status).toBe(202);
  await api.work();
  return ((await response.json()) as UploadReceipt).transcript_id;
}

const toPrompt = (session: string, index: number, content: string): string =>
  toLine(session, 2 * index, { message: { role: 'user', content } });
const toEdit = (session: string): string => {
  const content = [{ type: 'tool_use', id: 'call', name: 'Read', input: { file_path: `/${SECRET}.ts` } }];
  const message = { id: `msg-${session}`, role: 'assistant', model: 'claude-sonnet-4-5', content };
  return toLine(session, 1, { type: 'assistant', message });
};

/** The paths where a person reads texts of a session. */
async function readTexts(person: string, session: string, transcriptId: string): Promise<string[]> {
  const paths = [
    ...['', '/messages', '/outline', '/document?format=json', '/changes'].map((end) => `sessions/${session}${end}`),
    ...[`transcripts/${transcriptId}`, `transcripts/${transcriptId}/raw`, 'transcripts', 'sessions'],
    ...[`sessions?prompt=${SECRET}`, 'search?q=canary', 'analytics/files', 'export/sessions?format=csv'],
  ];
  const read: string[] = [];
  for (const path of paths) {
    const text = await (await api.fetch(`/v1/${path}`, as(person))).text();
    // Sessions that are found by a word are told by their ids.
    if (text.includes(SECRET) || (path.includes('prompt=') && text.includes(`"${session}"`))) read.push(path);
  }
  return read;
}

it('are of the sender, though someone else has claimed the id of the session before', async () => {
  const claimed = await upload('ann', 'claimed', toPrompt('claimed', 0, 'mine'));
  const text = toPrompt('claimed', 0, `${SECRET} prompt`) + toEdit('claimed') + toPrompt('claimed', 1, SECRET);
  const diverged = await upload('bob', 'claimed', text);
  expect(await readTexts('ann', 'claimed', diverged)).toEqual([]);
  const own = await (await api.fetch(`/v1/transcripts/${claimed}/raw`, as('ann'))).text();
  expect(own).toContain('mine');
});

it('are of the sender, too, if they continue what someone else had uploaded as the beginning', async () => {
  const first = toPrompt('continued', 0, 'hi');
  await upload('ann', 'continued', first);
  const longer = first + toEdit('continued') + toPrompt('continued', 1, `${SECRET} more`);
  const transcriptId = await upload('bob', 'continued', longer);
  const session = (await (await api.fetch('/v1/sessions/continued')).json()) as SessionDetail;
  expect(session).toMatchObject({ sent_person: 'ann', other_uploader_count: 1 });
  expect(await readTexts('ann', 'continued', transcriptId)).toEqual([]);
  expect(await (await api.fetch('/v1/sessions/continued/messages', as('bob'))).text()).toContain(SECRET);
});

it('are found by their sender if someone else’s version is not the current one', async () => {
  const text = toPrompt('kept', 0, 'unmistakable words') + toPrompt('kept', 1, 'and more');
  const own = await upload('ann', 'kept', text);
  const other = await upload('bob', 'kept', toPrompt('kept', 0, `unmistakable ${SECRET}`));
  const search = async (person: string) => {
    const answer = await (await api.fetch('/v1/search?q=unmistakable', as(person))).json();
    return (answer as SearchResultList).results.map(({ transcript_id }) => transcript_id);
  };
  expect(await search('ann')).toEqual([own]);
  expect(await search('bob')).toEqual([]);
  expect(await readTexts('ann', 'kept', other)).toEqual([]);
});

async function attach(person: string, session: string): Promise<string> {
  const path = `/v1/sessions/${session}/attachments?agent=claude-code&path=tool-results/${person}.txt`;
  const response = await api.fetch(path, { ...as(person), method: 'PUT', body: `${SECRET} of ${person}` });
  expect(response.status).toBe(201);
  return ((await response.json()) as AttachmentReceipt).attachment.id;
}

it('are of the sender, too, in attachments and running streams of a session that someone else has claimed', async () => {
  await upload('ann', 'followed', toPrompt('followed', 0, 'mine'));
  for (const person of ['ann', 'bob']) {
    await attach(person, 'followed');
    const stream = { 'recount-stream': newTestStreamId(), 'recount-complete': '?1', 'recount-exit-code': '0' };
    const lines = `${JSON.stringify({ type: 'system', subtype: 'init', session_id: 'followed', model: `model-of-${person}` })}\n`;
    const sender = { url: api.url, key: keys.get(person) ?? '' };
    expect(await sendLive(sender, 'followed', lines, stream)).toMatchObject({ status: 200 });
  }
  const listed = (await (await api.fetch('/v1/sessions/followed/attachments', as('ann'))).json()) as AttachmentList;
  expect(listed.attachments.map(({ path }) => path)).toEqual(['tool-results/ann.txt']);
  const read = async (key: string) => JSON.stringify(await readStory({ url: api.url, key }, 'followed'));
  const ofAnn = await read(keys.get('ann') ?? '');
  expect(ofAnn).toContain('model-of-ann');
  expect(ofAnn).not.toContain('model-of-bob');
  expect(await read(api.keys.admin)).toContain('model-of-bob');
});

/** The sessions whose reads a new key of this person and role has noted after it has read the path. */
async function readAndListNoted(role: Role, person: string, path: string, method = 'GET'): Promise<string[]> {
  const made = { workspaceId: HOME_WORKSPACE, name: `${role} ${path}`, person, scopes: ROLES[role] };
  const { id, key } = await createApiKey(api.database.database, made);
  const body = method === 'GET' ? {} : { body: '{}', headers: { 'content-type': 'application/json' } };
  const headers = { authorization: `Bearer ${key}`, ...body.headers };
  const response = await api.fetch(`/v1/${path}`, { ...body, method, headers });
  expect(response.ok, path).toBe(true);
  await response.text();
  const { entries } = (await (await api.fetch(`/v1/audit?kind=reads&actor=key:${id}`)).json()) as AuditList;
  return entries.flatMap(({ subjects }) => subjects).toSorted();
}

it('are noted as read, also in a session that the reader has claimed before', async () => {
  await upload('ann', 'audited', toPrompt('audited', 0, 'mine'));
  const transcriptId = await upload('bob', 'audited', toPrompt('audited', 0, SECRET) + toPrompt('audited', 1, SECRET));
  const attachmentId = await attach('bob', 'audited');
  for (const path of [
    ...[`sessions/audited/messages?transcript_id=${transcriptId}`, `transcripts/${transcriptId}/raw`],
    ...[`transcripts/${transcriptId}/lines/0`, `sessions/audited/attachments/${attachmentId}`],
    ...['sessions/audited/attachments', 'sessions/audited/events?follow=false', `transcripts/${transcriptId}`],
  ]) {
    expect(await readAndListNoted('admin', 'ann', path), path).toEqual(['audited']);
  }
  await upload('ann', 'unaudited', toPrompt('unaudited', 0, 'mine'));
  expect(await readAndListNoted('admin', 'ann', 'sessions/unaudited/messages')).toEqual([]);
});

it('are noted as read for each sub-agent of a document', async () => {
  await upload('ann', 'parent', toPrompt('parent', 0, 'mine'));
  const line = toLine('parent', 0, { isSidechain: true, agentId: 'a1', message: { role: 'user', content: SECRET } });
  const response = await api.upload(line, { path: '/x/parent/subagents/agent-a1.jsonl' }, as('bob'));
  expect(response.status).toBe(202);
  await api.work();
  const { session_id: child } = (await response.json()) as UploadReceipt;
  expect(await readAndListNoted('admin', 'ann', 'sessions/parent/document')).toEqual([child]);
  expect(await readAndListNoted('admin', 'ann', 'sessions/parent/share', 'POST')).toEqual([child]);
  expect(await readAndListNoted('auditor', 'eve', 'sessions/parent/document')).toEqual(['parent', child]);
});

it('have names in a document as the workspace shows them', async () => {
  await upload('bob', 'named', toPrompt('named', 0, 'hi'));
  const headers = { 'content-type': 'application/json' };
  const setPolicy = async (names_from_people: number | null): Promise<void> => {
    const body = JSON.stringify({ names_from_people });
    expect((await api.fetch('/v1/settings', { method: 'PUT', headers, body })).status).toBe(200);
  };
  await setPolicy(50);
  const reader = { headers: { authorization: `Bearer ${api.keys.read}` } };
  const document = await (await api.fetch('/v1/sessions/named/document?format=json', reader)).text();
  await setPolicy(null);
  expect(document).toMatch(/"person": "person-[0-9a-f]{10}"/);
  expect(document).not.toMatch(/"bob"/);
});
