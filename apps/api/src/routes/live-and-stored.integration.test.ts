import { liveListSchema } from '@recount/contract';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { followEvents, newTestStreamId, openLive, readStory, sendLive } from '../testing/live-client.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';

type Fields = Record<string, unknown>;

let api: TestApi;
let sender: { url: string; key: string };
let reader: { url: string; key: string };

beforeAll(async () => {
  api = await createTestApi();
  sender = { url: api.url, key: api.keys.ingest };
  reader = { url: api.url, key: api.keys.read };
});
afterAll(() => api.close());

const toText = (lines: readonly Fields[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const toInit = (sessionId: string): Fields => ({
  type: 'system',
  subtype: 'init',
  session_id: sessionId,
  claude_code_version: '2.1.0',
  tools: [],
});
const toUser = (sessionId: string, content: unknown, fields: Fields = {}): Fields => ({
  type: 'user',
  session_id: sessionId,
  parent_tool_use_id: null,
  message: { role: 'user', content },
  ...fields,
});
const toResultBlock = (id: string, fields: Fields): Fields => ({ type: 'tool_result', tool_use_id: id, ...fields });

/** Sends a whole stream live; returns what its readers saw and how it was stored. */
async function record(sessionId: string, text: string) {
  const headers = { 'recount-stream': newTestStreamId(), 'recount-complete': '?1', 'recount-exit-code': '0' };
  const answer = await sendLive(sender, sessionId, text, headers);
  expect(answer.status).toBe(200);
  await api.work({ maxLineBytes: 64 * 1024 * 1024 });
  const story = await readStory(reader, sessionId);
  const { streams } = liveListSchema.parse(
    await (await api.fetch(`/v1/live?state=ended&session_id=${sessionId}`)).json(),
  );
  return { story, stream: streams[0], ...(await readStored(sessionId)) };
}

async function readStored(sessionId: string) {
  const session = (await (await api.fetch(`/v1/sessions/${sessionId}`)).json()) as Fields;
  const messages: (Fields & { content_blocks: Fields[] })[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page = await api.fetch(`/v1/sessions/${sessionId}/messages${cursor && `?cursor=${cursor}`}`);
    const answer = (await page.json()) as { messages: typeof messages; next_cursor: string | null };
    messages.push(...answer.messages);
    cursor = answer.next_cursor;
  }
  const { checkpoints } = (await (await api.fetch(`/v1/sessions/${sessionId}/checkpoints`)).json()) as {
    checkpoints: string[];
  };
  return { session, messages, checkpoints };
}

const readIssues = async (transcriptId: string): Promise<Fields[]> =>
  ((await (await api.fetch(`/v1/transcripts/${transcriptId}/issues`)).json()) as { issues: Fields[] }).issues;

it('stores usage written as text, and times in Unix and RFC 2822 form, as they were shown live', async () => {
  const answer = (id: string, timestamp: unknown, output: unknown): Fields => ({
    type: 'assistant',
    session_id: 'coerced',
    timestamp,
    message: {
      id: `msg_01CoercedFiguresOfStream${id}`,
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'text', text: `answer ${id}` }],
      usage: { input_tokens: '1200', output_tokens: output },
    },
  });
  const expected = '2026-11-05T14:30:15.000Z';
  const { story, stream, session, messages } = await record(
    'coerced',
    toText([
      toInit('coerced'),
      answer('A', Date.parse(expected) / 1000, '7'),
      answer('B', Date.parse(expected), 8),
      answer('C', 'Thu, 05 Nov 2026 14:30:15 +0000', '9.0'),
      { type: 'result', subtype: 'success', session_id: 'coerced', total_cost_usd: '0.02' },
    ]),
  );
  const texts = story.filter(({ event }) => event === 'text');
  const expectedMs = Date.parse(expected);
  expect(texts.map(({ data }) => data.timestampMs)).toEqual([expectedMs, expectedMs, expectedMs]);
  expect(messages.map(({ timestamp }) => timestamp)).toEqual([expected, expected, expected]);
  expect(stream).toMatchObject({ tokens_in: 3600, tokens_out: 24, cost_usd: 0.02 });
  expect(session).toMatchObject({ tokens_in: 3600, tokens_out: 24 });
});

it('shows and stores a result with its error, an object as JSON, and an image by type and size', async () => {
  const png = Buffer.alloc(300).toString('base64');
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } };
  const { story, messages } = await record(
    'outputs',
    toText([
      toInit('outputs'),
      toUser('outputs', [
        toResultBlock('t1', { content: '', is_error: true, error: 'Permission denied' }),
        toResultBlock('t2', { content: { files: 2 } }),
        toResultBlock('t3', { content: 12 }),
        toResultBlock('t4', { content: [image] }),
      ]),
    ]),
  );
  const results = story.flatMap(({ data }) => (data.type === 'tool-end' ? [data] : []));
  expect(results.map(({ toolOutput, toolError }) => [toolOutput, toolError])).toEqual([
    ['Permission denied', 'Permission denied'],
    ['{"files":2}', null],
    ['12', null],
    ['[image/png, 300 bytes]', null],
  ]);
  const [message] = messages;
  expect(message?.content_blocks.map(({ result_text }) => result_text)).toEqual([
    'Permission denied',
    null,
    null,
    null,
  ]);
  expect(message?.content_blocks.map(({ metadata }) => (metadata as Fields).content)).toMatchObject([
    undefined,
    { files: 2 },
    12,
    undefined,
  ]);
});

it('gives every line a time, its own or the time of its arrival', async () => {
  const { messages } = await record(
    'timeless',
    toText([
      toInit('timeless'),
      { type: 'user', message: { role: 'user', content: 'no id' } },
      toUser('timeless', 'b'),
    ]),
  );
  expect(messages.map(({ timestamp }) => typeof timestamp)).toEqual(['string', 'string']);
});

it('makes an event and a message of a flat line', async () => {
  const { story, messages } = await record(
    'flat',
    toText([
      toInit('flat'),
      { type: 'message', role: 'system', content: 'be brief' },
      { type: 'message', role: 'assistant', content: 'I will' },
    ]),
  );
  expect(story.map(({ event }) => event)).toEqual(['session-start', 'progress', 'text', 'close']);
  expect(messages.map(({ message_type, role }) => [message_type, role])).toEqual([
    ['system', 'system'],
    ['assistant', 'assistant'],
  ]);
});

it('reports a version that is too new once, as a warning of the stream and an issue of the file', async () => {
  const lines = (id: string, fields: Fields): Fields[] => [
    { type: 'user', ...fields, uuid: 'u1', version: '3.1.0', message: { role: 'user', content: `a ${id}` } },
    { type: 'user', ...fields, uuid: 'u2', version: '3.1.0', message: { role: 'user', content: `b ${id}` } },
  ];
  const { story } = await record('too-new', toText(lines('live', { session_id: 'too-new' })));
  const told = story.flatMap(({ data }) => (data.type === 'warning' ? [data.warning] : []));
  expect(told).toMatchObject([
    { code: 'unsupported_version', message: expect.stringContaining('update recount'), lineNumber: 1 },
  ]);
  const uploaded = await api.upload(toText(lines('file', { sessionId: 'too-new-file', parentUuid: null })));
  const { transcript_id } = (await uploaded.json()) as { transcript_id: string };
  await api.work();
  expect(await readIssues(transcript_id)).toMatchObject([{ code: 'unsupported_version', line_number: 1 }]);
});

it('keeps the newest 100 user messages of any transcript as checkpoints, in order', async () => {
  const users = Array.from({ length: 120 }, (_, index) => ({
    type: 'user',
    sessionId: 'rewindable',
    parentUuid: null,
    uuid: `u-${index}`,
    isSidechain: false,
    message: { role: 'user', content: `message ${index}` },
  }));
  const others = [
    { ...users[0], uuid: 'meta', isMeta: true },
    { ...users[0], uuid: 'result', message: { role: 'user', content: [toResultBlock('t', { content: 'x' })] } },
  ];
  await api.upload(toText([...users, ...others]));
  await api.work();
  const { checkpoints } = await readStored('rewindable');
  expect(checkpoints).toEqual(users.slice(20).map(({ uuid }) => uuid));
  const { checkpoints: continued } = await record(
    'rewindable',
    toText([toInit('rewindable'), toUser('rewindable', 'more', { uuid: 'u-live' })]),
  );
  expect(continued.at(-1)).toBe('u-live');
  expect(continued).toHaveLength(100);
});

it('lists the checkpoints of several live runs in order of time, whichever run is the longest', async () => {
  const run = async (...uuids: string[]) =>
    await record(
      'many-runs',
      toText([toInit('many-runs'), ...uuids.map((uuid) => toUser('many-runs', `prompt ${uuid}`, { uuid }))]),
    );
  expect((await run('cp-1', 'cp-2')).checkpoints).toEqual(['cp-1', 'cp-2']);
  expect((await run('cp-3', 'cp-4', 'cp-5')).checkpoints).toEqual(['cp-1', 'cp-2', 'cp-3', 'cp-4', 'cp-5']);
  expect((await run('cp-6')).checkpoints).toEqual(['cp-1', 'cp-2', 'cp-3', 'cp-4', 'cp-5', 'cp-6']);
});

it('lists the checkpoints of several recorded runs in order of their upload, or by their times', async () => {
  const toRun = (sessionId: string, users: readonly Fields[]) =>
    toText([toInit(sessionId), ...users.map((fields) => toUser(sessionId, `prompt ${fields.uuid}`, fields))]);
  await api.upload(toRun('recorded-runs', [{ uuid: 'cp-1' }, { uuid: 'cp-2' }, { uuid: 'cp-3' }]));
  await api.work();
  await api.upload(toRun('recorded-runs', [{ uuid: 'cp-4' }]));
  await api.work();
  expect((await readStored('recorded-runs')).checkpoints).toEqual(['cp-1', 'cp-2', 'cp-3', 'cp-4']);
  const later = { uuid: 'cp-2', timestamp: '2026-05-02T10:00:00Z' };
  await api.upload(toRun('timed-runs', [later, { uuid: 'cp-3' }]));
  await api.upload(toRun('timed-runs', [{ uuid: 'cp-1', timestamp: '2026-05-01T10:00:00Z' }]));
  await api.work();
  expect((await readStored('timed-runs')).checkpoints).toEqual(['cp-1', 'cp-2', 'cp-3']);
});

it('counts costUSD on assistant lines live', async () => {
  const answer = (id: string, costUSD: number): Fields => ({
    type: 'assistant',
    session_id: 'old-costs',
    costUSD,
    message: { id, role: 'assistant', content: [{ type: 'text', text: id }], usage: { input_tokens: 1 } },
  });
  const first = 'msg_01OldCostsFirstResponseOfStream';
  const { stream } = await record(
    'old-costs',
    toText([toInit('old-costs'), answer(first, 0.25), answer(first, 0.25), answer('msg_01OldCostsSecondOne', 0.5)]),
  );
  expect(stream?.cost_usd).toBe(0.75);
});

it('shows a result whose call was never seen within seconds, marked', async () => {
  const live = openLive(sender, 'unpaired', { 'recount-stream': newTestStreamId() });
  await live.write(toText([toInit('unpaired')]));
  await vi.waitFor(async () => expect((await api.fetch('/v1/sessions/unpaired/events?follow=true')).status).toBe(200));
  const follower = await followEvents(reader, 'unpaired');
  await live.write(toText([toUser('unpaired', [toResultBlock('t1', { content: 'orphan' })])]));
  const { data } = await follower.waitFor('tool-end');
  expect(data).toMatchObject({ toolOutput: 'orphan', toolName: null, isUnpaired: true });
  follower.close();
  live.end();
  await live.answer;
});

it('drops a line over 10 MiB from the view only, and marks one over 1 MiB as large', async () => {
  const { story, messages } = await record(
    'huge',
    toText([toInit('huge'), toUser('huge', 'x'.repeat(11 * 1024 * 1024)), toUser('huge', 'y'.repeat(1024 * 1024))]),
  );
  expect(story.flatMap(({ data }) => (data.type === 'warning' ? [data.warning.code] : []))).toEqual([
    'buffer_overflow',
    'large_message',
  ]);
  expect(story.filter(({ event }) => event === 'progress').map(({ data }) => data)).toMatchObject([
    { isLarge: true, isCut: true },
  ]);
  expect(messages).toHaveLength(2);
  expect(messages[0]?.content_blocks[0]?.metadata).toMatchObject({ original_byte_length: 11 * 1024 * 1024 });
});
