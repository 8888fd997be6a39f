import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readStory } from '@recount/api/testing/live-client';
import { liveListSchema } from '@recount/contract';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { createFakeAgents, type Recount, startRecount, waitUntil } from './live-run/run-recount.ts';

type Fields = Record<string, unknown>;

let home: string;
let up: Recount;
let url: string;
let key: string;
let started: Recount[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-live-and-stored-'));
  await createFakeAgents(join(home, 'bin'));
  const first = join(home, 'first.jsonl');
  await writeFile(first, toText([{ type: 'user', sessionId: 'first', uuid: 'u1', message: { content: 'hello' } }]));
  up = startRecount(home, ['up', '--port', '0', first], environment());
  await waitUntil(() => /Ctrl-C stops it/.test(up.stdout() + up.stderr()), 'recount is up');
  url = /^URL +(\S+)$/m.exec(up.stdout())?.[1] ?? '';
  key = /^API key +(\S+)$/m.exec(up.stdout())?.[1] ?? '';
});
afterEach(async () => {
  for (const { child, ended } of started) {
    child.kill('SIGKILL');
    await ended;
  }
  started = [];
});
afterAll(async () => {
  up.child.kill('SIGTERM');
  await up.ended;
  await rm(home, { recursive: true, force: true });
});

const environment = (more: Record<string, string> = {}): Record<string, string> => ({
  RECOUNT_DATA_DIR: join(home, 'data'),
  ...more,
});

/** A string stands for a line that is not JSON. */
const toText = (lines: readonly (Fields | string)[]): string =>
  lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');

const toInit = (sessionId: string, fields: Fields = {}): Fields => ({
  type: 'system',
  subtype: 'init',
  session_id: sessionId,
  tools: [],
  ...fields,
});
const success = { type: 'result', subtype: 'success', is_error: false };

const get = async (path: string): Promise<Fields> =>
  (await (await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })).json()) as Fields;

function start(words: readonly string[], more: Record<string, string> = {}, stdin?: string): Recount {
  const recount = startRecount(home, words, environment(more), stdin);
  started.push(recount);
  return recount;
}

/** Records streams with `recount tail`, in both forms, for programs and for people; returns the latter's lines. */
async function record(sessionId: string, lines: readonly (Fields | string)[]) {
  const path = join(home, `${sessionId}.stream`);
  await writeFile(path, toText(lines));
  const [told, shown] = await Promise.all([
    start(['tail', '--agent', 'claude', '--json', '--record'], {}, path).ended,
    start(['tail', '--agent', 'claude', '--verbose'], {}, path).ended,
  ]);
  const events = told.stdout.trimEnd().split('\n');
  return { shown: shown.stdout, events: events.map((line) => JSON.parse(line) as Fields), ...(await read(sessionId)) };
}

/** The events that readers of the session get, and the rows that are stored when its stream has become a transcript. */
async function read(sessionId: string) {
  let transcriptId: string | null = null;
  await waitUntil(async () => {
    const { streams } = liveListSchema.parse(await get(`/v1/live?state=ended&session_id=${sessionId}`));
    transcriptId = streams[0]?.transcript_id ?? null;
    return transcriptId !== null && (await get(`/v1/transcripts/${transcriptId}`)).status === 'ingested';
  }, `${sessionId} is stored`);
  const { streams } = liveListSchema.parse(await get(`/v1/live?state=ended&session_id=${sessionId}`));
  const messages: (Fields & { content_blocks: Fields[] })[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page = await get(`/v1/sessions/${sessionId}/messages${cursor && `?cursor=${cursor}`}`);
    const { next_cursor, ...found } = page as { messages: typeof messages; next_cursor: string | null };
    messages.push(...found.messages);
    cursor = next_cursor;
  }
  const { issues } = (await get(`/v1/transcripts/${transcriptId}/issues`)) as { issues: Fields[] };
  const story = (await readStory({ url, key }, sessionId)).map(({ event, data }) => ({ event, data: data as Fields }));
  return { story, stream: streams[0], messages, issues, blocks: messages.flatMap((each) => each.content_blocks) };
}

const named = (events: readonly Fields[], type: string): Fields[] => events.filter((event) => event.type === type);
const told = (story: readonly { event: string; data: Fields }[], name: string): Fields[] =>
  story.filter(({ event }) => event === name).map(({ data }) => data);
const warningsOf = (story: Parameters<typeof told>[0]): Fields[] =>
  told(story, 'warning').map(({ warning }) => warning as Fields);

it('usage as text and times of any kind are the same on the screen, in events and in rows', async () => {
  const answer = (id: string, timestamp: unknown, output: unknown): Fields => ({
    type: 'assistant',
    session_id: 'coerced',
    timestamp,
    message: {
      id: `msg_01EndToEndCoercedFigures${id}`,
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'text', text: id }],
      usage: { input_tokens: '1200', output_tokens: output },
    },
  });
  const moment = '2026-11-05T14:30:15.000Z';
  const momentMs = Date.parse(moment);
  const { events, story, stream, messages } = await record('coerced', [
    toInit('coerced'),
    answer('A', momentMs / 1000, '7'),
    answer('B', momentMs, 8),
    answer('C', 'Thu, 05 Nov 2026 14:30:15 +0000', '9.0'),
    { ...success, session_id: 'coerced' },
  ]);
  expect(named(events, 'text').map(({ timestampMs }) => timestampMs)).toEqual([momentMs, momentMs, momentMs]);
  expect(events.at(-1)).toMatchObject({ type: 'close', summary: { tokens: { tokens_in: 3600, tokens_out: 24 } } });
  expect(told(story, 'text').map(({ timestampMs }) => timestampMs)).toEqual([momentMs, momentMs, momentMs]);
  expect(stream).toMatchObject({ tokens_in: 3600, tokens_out: 24 });
  expect(messages.map(({ timestamp, tokens_out }) => [timestamp, tokens_out])).toEqual([
    [moment, 7],
    [moment, 8],
    [moment, 9],
  ]);
});

it('results are shown, streamed and stored with the error beside them, as JSON, and as the kind and size of an image', async () => {
  const image = {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: Buffer.alloc(300).toString('base64') },
  };
  const result = (id: string, fields: Fields): Fields => ({ type: 'tool_result', tool_use_id: id, ...fields });
  const content = [
    result('t1', { content: '', is_error: true, error: 'Permission denied' }),
    result('t2', { content: { files: 2 } }),
    result('t3', { content: 12 }),
    result('t4', { content: [image] }),
  ];
  const calls = content.map(({ tool_use_id: id }) => ({ type: 'tool_use', id, name: 'Read', input: {} }));
  const { shown, story, blocks } = await record('outputs', [
    toInit('outputs'),
    { type: 'assistant', session_id: 'outputs', message: { role: 'assistant', content: calls } },
    { type: 'user', session_id: 'outputs', message: { role: 'user', content } },
  ]);
  for (const line of ['ERROR: Permission denied', '-> {"files":2}', '-> 12', '-> [image/png, 300 bytes]']) {
    expect(shown).toContain(line);
  }
  expect(told(story, 'tool-end').map(({ toolOutput }) => toolOutput)).toEqual([
    'Permission denied',
    '{"files":2}',
    '12',
    '[image/png, 300 bytes]',
  ]);
  const stored = blocks.filter(({ block_type }) => block_type === 'tool_result');
  expect(stored).toMatchObject([
    { result_text: 'Permission denied' },
    { metadata: { content: { files: 2 } } },
    { metadata: { content: 12 } },
    { result_text: null },
  ]);
});

it('lines without a session and a time have the time of their arrival, and their usage has a day', async () => {
  const before = Date.now();
  const { events, messages } = await record('timeless', [
    toInit('timeless', { cwd: '/timeless' }),
    {
      type: 'assistant',
      message: {
        id: 'msg_01EndToEndOfATimelessLine',
        role: 'assistant',
        content: 'hello',
        usage: { output_tokens: 11 },
      },
    },
  ]);
  expect(named(events, 'text')[0]?.timestampMs).toBeGreaterThanOrEqual(before);
  expect(Date.parse(String(messages[0]?.timestamp))).toBeGreaterThanOrEqual(before);
  const { rows } = (await get('/v1/analytics/usage?group_by=day&project=/timeless')) as { rows: Fields[] };
  expect(rows).toMatchObject([{ day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), own: { tokens_out: 11 } }]);
});

it('a flat stream becomes messages, calls and results', async () => {
  const { shown, story, messages, blocks } = await record('flat', [
    toInit('flat'),
    { type: 'message', role: 'system', content: 'be brief' },
    { type: 'message', role: 'assistant', content: 'I look' },
    { type: 'tool_use', id: 'flat_1', tool_name: 'Read', tool_input: { file_path: 'a.ts' } },
    { type: 'tool_result', tool_use_id: 'flat_1', output: 'const a = 1;' },
  ]);
  // Followed by its duration, if that was long enough.
  expect(shown).toMatch(/\[claude\] "I look"\n\[claude\] Read: a\.ts\n {2}-> const a = 1;(?: \([\d.]+ s\))?\n/);
  expect(story.map(({ event }) => event)).toEqual([
    'session-start',
    'progress',
    'text',
    'tool-start',
    'tool-end',
    'close',
  ]);
  expect(messages.map(({ message_type }) => message_type)).toEqual(['system', 'assistant', 'assistant', 'user']);
  expect(blocks.slice(-2)).toMatchObject([
    { block_type: 'tool_use', tool_name: 'Read', tool_input: { file_path: 'a.ts' } },
    { block_type: 'tool_result', result_text: 'const a = 1;' },
  ]);
});

it('user messages are checkpoints of a stream', async () => {
  const user = (uuid: string): Fields => ({ type: 'user', session_id: 'rewind', uuid, message: { content: uuid } });
  const { events, story } = await record('rewind', [toInit('rewind'), user('u-1'), user('u-2')]);
  expect(named(events, 'progress').map(({ checkpoint }) => checkpoint)).toEqual(['u-1', 'u-2']);
  expect(told(story, 'progress').map(({ checkpoint }) => checkpoint)).toEqual(['u-1', 'u-2']);
  expect((await get('/v1/sessions/rewind/checkpoints')).checkpoints).toEqual(['u-1', 'u-2']);
});

it('a version that is too new is reported once, with the advice to update recount', async () => {
  const line = { type: 'user', session_id: 'too-new', version: '3.1.0', message: { content: 'hello' } };
  const { shown, story, issues } = await record('too-new', [toInit('too-new'), line, line]);
  expect(shown.match(/WARNING: .*update recount \(line 2\)/g)).toHaveLength(1);
  const expected = [{ code: 'unsupported_version', message: expect.stringContaining('update recount') }];
  expect(warningsOf(story)).toMatchObject(expected);
  expect(issues).toMatchObject([{ code: 'unsupported_version', line_number: 2 }]);
});

it('plain text and truncated lines are shown, reported without a quotation, and stored as issues', async () => {
  const torn = '{"type":"assistant","message":{"content":"never ends';
  const { shown, story, stream, issues } = await record('faults', [toInit('faults'), 'Invalid API key', torn, torn]);
  expect(shown).toContain('[claude] Invalid API key\n');
  expect(shown).toContain(`[claude] WARNING: Unreadable line (line 3): ${torn}\n`);
  expect(shown).toContain('[claude] WARNING: 2 lines could not be read\n');
  const warnings = warningsOf(story);
  expect(warnings.map(({ code, lineNumber }) => [code, lineNumber])).toEqual([2, 3, 4].map((n) => ['invalid_json', n]));
  expect(JSON.stringify(warnings)).not.toMatch(/API key|never ends/);
  expect(stream?.warning_count).toBe(3);
  expect(issues.map(({ code, line_number }) => [code, line_number])).toEqual([2, 3, 4].map((n) => ['invalid_json', n]));
});

it('a stream is shown raw until a line identifies its agent', async () => {
  const tail = start(['tail', '--record'], {}, 'pipe');
  tail.child.stdin?.write('Loading\n');
  await waitUntil(() => tail.stdout() === 'Loading\n', 'the first line is shown as it is');
  tail.child.stdin?.end(toText([toInit('raw'), { type: 'assistant', session_id: 'raw', message: { content: 'hi' } }]));
  expect((await tail.ended).stdout).toContain('Loading\n[claude] "hi"\n');
  const { story, messages } = await read('raw');
  expect(told(story, 'text')).toMatchObject([{ text: 'hi' }]);
  expect(messages).toHaveLength(1);
});

it('a result whose call was never seen is shown after two seconds, marked', async () => {
  const tail = start(['tail', '--agent', 'claude', '--record'], {}, 'pipe');
  const content = [{ type: 'tool_result', tool_use_id: 'lost_1', content: 'orphan' }];
  tail.child.stdin?.write(toText([toInit('lost'), { type: 'user', session_id: 'lost', message: { content } }]));
  await waitUntil(() => tail.stdout().includes('-> orphan (of a call not seen)'), 'the result');
  tail.child.stdin?.end();
  await tail.ended;
  const { story, blocks } = await read('lost');
  expect(told(story, 'tool-end')).toMatchObject([{ toolOutput: 'orphan', isUnpaired: true }]);
  expect(blocks).toMatchObject([{ block_type: 'tool_result', result_text: 'orphan' }]);
});

it('an answer in <response> is found among lines of JSON', async () => {
  const path = join(home, 'response.stream');
  const text = { type: 'assistant', session_id: 'response', message: { content: '<response>wrong</response>' } };
  const lines = [toInit('response'), text, 'So it is <response>', text, ' All', 'done </response>.', text];
  await writeFile(path, toText(lines));
  const command = ['run', '--record', '--complete-with', 'all\ndone', '--', 'claude', '-p'];
  const run = await start(command, { FAKE_STREAM: path, FAKE_EXIT_CODE: '3' }).ended;
  expect(run).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('[claude] So it is <response>\n') });
  const other = ['run', '--complete-with', 'wrong', '--', 'claude', '-p'];
  expect(await start(other, { FAKE_STREAM: path }).ended).toMatchObject({ exitCode: 1 });
  const { story, stream, messages, issues } = await read('response');
  expect(told(story, 'text')).toHaveLength(3);
  expect(warningsOf(story).map(({ lineNumber }) => lineNumber)).toEqual([3, 5, 6]);
  expect(stream).toMatchObject({ success: false, warning_count: 3 });
  expect(messages).toHaveLength(3);
  expect(issues.map(({ line_number }) => line_number)).toEqual([3, 5, 6]);
});

it('costs of assistant lines count if there is no total', async () => {
  const answer = (id: string, costUSD: number): Fields => ({
    type: 'assistant',
    session_id: 'costs',
    costUSD,
    message: { id, role: 'assistant', model: 'unpriced', content: id, usage: { output_tokens: 1 } },
  });
  const { shown, story, stream } = await record('costs', [
    toInit('costs'),
    answer('msg_01EndToEndCostsFirst', 0.25),
    answer('msg_01EndToEndCostsFirst', 0.25),
    answer('msg_01EndToEndCostsSecond', 0.5),
    { ...success, session_id: 'costs' },
  ]);
  expect(shown).toContain('Complete (cost: $0.7500)');
  expect(told(story, 'close')).toMatchObject([{ summary: { costUsd: 0.75 } }]);
  expect(stream?.cost_usd).toBe(0.75);
  expect(await get('/v1/sessions/costs')).toMatchObject({ cost_estimate_usd: 0.75, unpriced_count: 0 });
});

it('a malformed line counts as activity', async () => {
  const tail = start(['tail', '--agent', 'claude', '--json', '--record'], {}, 'pipe');
  tail.child.stdin?.write(toText([toInit('active')]));
  await waitUntil(() => tail.stdout().includes('session-start'), 'the first line');
  const lists = async () => liveListSchema.parse(await get('/v1/live?state=all&session_id=active')).streams[0];
  await waitUntil(async () => (await lists()) !== undefined, 'the stream is listed');
  const first = await lists();
  const before = Date.now();
  tail.child.stdin?.write('{"torn":\n');
  await waitUntil(() => tail.stdout().includes('invalid_json'), 'the warning');
  await waitUntil(async () => (await lists())?.warning_count === 1, 'the server has it');
  expect(Date.parse((await lists())?.last_received_at ?? '')).toBeGreaterThanOrEqual(before);
  expect(Date.parse(first?.last_received_at ?? '')).toBeLessThanOrEqual(before);
  tail.child.stdin?.end();
  const close = JSON.parse((await tail.ended).stdout.trimEnd().split('\n').at(-1) ?? '') as { summary: Fields };
  expect(close.summary).toMatchObject({ lineCount: 1, warningCount: 1 });
  expect(close.summary.lastActivityMs).toBeGreaterThanOrEqual(before);
});

it('a line over 10 MiB is dropped from the view only, and one over 1 MiB is marked large', async () => {
  const user = (content: string): Fields => ({ type: 'user', session_id: 'huge', message: { content } });
  const { shown, events, story, messages } = await record('huge', [
    toInit('huge'),
    user('x'.repeat(11 * 1024 * 1024)),
    user('y'.repeat(1024 * 1024)),
  ]);
  expect(shown).toContain('WARNING: More than 10485760 bytes without a line feed, so the line was dropped (line 2)');
  expect(named(events, 'progress')).toMatchObject([{ isLarge: true }]);
  expect(told(story, 'progress')).toMatchObject([{ isLarge: true, isCut: true }]);
  expect(warningsOf(story).map(({ code }) => code)).toEqual(['buffer_overflow', 'large_message']);
  expect(messages).toHaveLength(2);
  expect(messages[0]?.content_blocks).toMatchObject([{ metadata: { original_byte_length: 11 * 1024 * 1024 } }]);
});
