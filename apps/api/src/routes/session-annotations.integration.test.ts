import type {
  AuditList,
  SearchResultList,
  SessionAnnotation,
  SessionDetail,
  SessionList,
  SessionTagList,
  TranscriptList,
} from '@recount/contract';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';

let api: TestApi | undefined;
let made = 0;
/** A new one in every test. */
let heron = '';
let other = '';

const getApi = async (): Promise<TestApi> => {
  api ??= await createTestApi();
  return api;
};

beforeEach(async () => {
  const { upload, work } = await getApi();
  made += 1;
  heron = `heron-${made}`;
  other = `other-${made}`;
  await upload(toTranscript(heron, 2));
  await upload(toTranscript(other, 2));
  await work();
});
afterAll(() => api?.close());

const change = async (sessionId: string, body: object, key?: string): Promise<Response> =>
  (await getApi()).fetch(`/v1/sessions/${sessionId}`, {
    method: 'PATCH',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
  });
const read = async <T>(path: string): Promise<T> => (await (await getApi()).fetch(path)).json() as Promise<T>;
const listIds = async (query: string): Promise<string[]> =>
  (await read<SessionList>(`/v1/sessions?${query}`)).sessions.map(({ session_id }) => session_id);

describe('PATCH /v1/sessions/:session_id', () => {
  it('renames, stars, tags and notes a session, and leaves what is not given as it is', async () => {
    const all = { given_title: 'Herons', is_starred: true, tags: ['lake', 'bird', 'lake'], note: 'Look again\nat it' };
    expect(await (await change(heron, all)).json()).toEqual({ ...all, tags: ['bird', 'lake'] });
    const answer = await change(heron, { note: null });
    expect(await (answer.json() as Promise<SessionAnnotation>)).toEqual({ ...all, tags: ['bird', 'lake'], note: null });
    const session = await read<SessionDetail>(`/v1/sessions/${heron}`);
    expect(session).toMatchObject({ title: 'Herons', given_title: 'Herons', is_starred: true, tags: ['bird', 'lake'] });
    const { sessions } = await read<SessionList>('/v1/sessions');
    expect(sessions.find(({ session_id }) => session_id === heron)).toMatchObject({
      title: 'Herons',
      is_starred: true,
    });
    expect(sessions.find(({ session_id }) => session_id === other)).toMatchObject({
      ...{ title: `prompt 0 of ${other}`, given_title: null, is_starred: false, tags: [], note: null },
    });
  });

  it('gives its title to transcripts, search and exports, and the agent’s own title again when it is removed', async () => {
    await change(heron, { given_title: 'Herons' });
    const titles = async () => [
      (await read<TranscriptList>(`/v1/transcripts?session_id=${heron}`)).transcripts[0]?.title,
      (await read<SearchResultList>(`/v1/search?q=prompt&session_id=${heron}`)).results[0]?.title,
      (await (await (await getApi()).fetch('/v1/export/sessions?format=ndjson')).text())
        .split('\n')
        .filter((line) => line.includes(`"${heron}"`))
        .map((line) => (JSON.parse(line) as { title: string }).title)[0],
    ];
    expect(await titles()).toEqual(['Herons', 'Herons', 'Herons']);
    await change(heron, { given_title: null });
    expect(new Set(await titles())).toEqual(new Set([`prompt 0 of ${heron}`]));
  });

  it('survives a longer version of the session, and is deleted with it', async () => {
    await change(heron, { is_starred: true, note: 'kept' });
    const { upload, work, fetch } = await getApi();
    await upload(toTranscript(heron, 8));
    await work();
    expect(await read(`/v1/sessions/${heron}`)).toMatchObject({ total_messages: 8, is_starred: true, note: 'kept' });
    await fetch(`/v1/sessions/${heron}`, { method: 'DELETE' });
    await upload(toTranscript(heron, 2));
    await work();
    expect(await read(`/v1/sessions/${heron}`)).toMatchObject({ is_starred: false, note: null });
  });

  it('is deleted with the last transcript of its session, and not before', async () => {
    const { upload, work, fetch } = await getApi();
    await upload(toTranscript(heron, 2, { uuid: 'another' }));
    await work();
    await change(heron, { is_starred: true });
    const { transcripts } = await read<TranscriptList>(`/v1/transcripts?session_id=${heron}`);
    expect(transcripts.length).toBe(2);
    await fetch(`/v1/transcripts/${transcripts[0]?.id}`, { method: 'DELETE' });
    expect(await read(`/v1/sessions/${heron}`)).toMatchObject({ is_starred: true });
    await fetch(`/v1/transcripts/${transcripts[1]?.id}`, { method: 'DELETE' });
    const { database } = await getApi();
    const { rows } = await database.pool.query('SELECT FROM recount.session_annotations WHERE session_id = $1', [
      heron,
    ]);
    expect(rows).toEqual([]);
  });

  it('names the changed fields in the audit log, and none of their texts', async () => {
    await change(heron, { note: 'a private note', tags: ['private-tag'] });
    const { entries } = await read<AuditList>(`/v1/audit?subject=${heron}`);
    expect(entries).toMatchObject([{ action: 'session.annotate', details: { fields: ['tags', 'note'] } }]);
    expect(JSON.stringify(entries)).not.toContain('private');
  });

  it.each([
    ['nothing', {}],
    ['an empty title', { given_title: '' }],
    ['a title of two lines', { given_title: 'a\nb' }],
    ['a title that is too long', { given_title: 'x'.repeat(121) }],
    ['a note that is too long', { note: 'x'.repeat(4001) }],
    ['too many tags', { tags: Array.from({ length: 21 }, (_, index) => `t${index}`) }],
    ['a tag that is too long', { tags: ['x'.repeat(51)] }],
    ['NUL', { note: 'a\0b' }],
    ['unknown fields', { title: 'x' }],
  ])('refuses %s', async (_, body) => {
    await expectProblem(await change(heron, body), 400, 'invalid-request');
  });

  it('refuses keys without the scope admin, and unknown sessions', async () => {
    const { keys } = await getApi();
    await expectProblem(await change(heron, { is_starred: true }, keys.read), 403, 'missing-scope');
    await expectProblem(await change('no-such-session', { is_starred: true }), 404, 'not-found');
  });
});

describe('filters and tags', () => {
  it('lists starred sessions, those with any of several tags, and the tags in use', async () => {
    const [bird, lake] = [`bird-${made}`, `lake-${made}`];
    await change(heron, { is_starred: true, tags: [bird, lake] });
    await change(other, { tags: [lake] });
    expect(await listIds(`is_starred=true&tag=${bird}`)).toEqual([heron]);
    expect((await listIds(`tag=${bird}&tag=${lake}`)).sort()).toEqual([heron, other].sort());
    expect(await listIds(`is_starred=false&tag=${lake}`)).toEqual([other]);
    expect(await listIds('tag=no-such-tag')).toEqual([]);
    const { tags } = await read<SessionTagList>('/v1/session-tags');
    expect(tags).toContainEqual({ tag: lake, sessions: 2 });
    expect(tags).toContainEqual({ tag: bird, sessions: 1 });
  });
});
