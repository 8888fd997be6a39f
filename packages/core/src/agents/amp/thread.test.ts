import { expect, it } from 'vitest';
import { UNKNOWN_MODEL } from '../../records/rows.ts';
import { countTokens, listIssues, readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 19, 11, 0, second)).toISOString();
const usage = (
  model: string,
  second: number,
  inputTokens: number,
  outputTokens: number,
  cacheCreationInputTokens: number,
  cacheReadInputTokens: number,
) => ({
  ...{
    model,
    timestamp: at(second),
    maxInputTokens: 168_000,
    inputTokens,
    outputTokens,
    cacheCreationInputTokens,
    cacheReadInputTokens,
  },
  totalInputTokens: inputTokens + cacheCreationInputTokens + cacheReadInputTokens,
});
const REPOSITORY = { type: 'git', url: 'https://example.org/ada/app', ref: 'main', sha: 'c0ffee' };
const THREAD = {
  ...{
    v: 9,
    id: 'T-019b0000-0000-7000-8000-000000000001',
    created: Date.parse(at(0)),
    title: 'Heron',
    agentMode: 'smart',
  },
  env: { initial: { trees: [{ displayName: 'app', uri: 'file:///home/ada/app', repository: REPOSITORY }] } },
  messages: [
    {
      role: 'user',
      messageId: 0,
      content: [{ type: 'text', text: 'Find the heron' }],
      meta: { sentAt: Date.parse(at(1)) },
    },
    {
      role: 'assistant',
      messageId: 1,
      content: [
        { type: 'thinking', thinking: 'Where?' },
        { type: 'tool_use', id: 'toolu_0000000000000000000001', name: 'Bash', input: { cmd: 'git log' } },
      ],
      state: { type: 'complete', stopReason: 'tool_use' },
      usage: usage('claude-haiku-4-5-20251001', 2, 10, 178, 986, 11_372),
    },
    {
      role: 'user',
      messageId: 2,
      content: [
        {
          type: 'tool_result',
          toolUseID: 'toolu_0000000000000000000001',
          run: { status: 'done', result: { output: 'two lines', exitCode: 0 } },
        },
      ],
    },
    {
      role: 'assistant',
      messageId: 3,
      content: [{ type: 'text', text: 'There' }],
      state: { type: 'complete', stopReason: 'end_turn' },
      usage: usage('gpt-5', 4, 0, 42, 900, 12_000),
    },
  ],
  usageLedger: {
    events: [
      {
        id: 'e-1',
        timestamp: at(2),
        model: 'claude-haiku-4-5-20251001',
        credits: 1.5,
        tokens: { input: 12_368, output: 178 },
        toMessageId: 1,
      },
      { id: 'e-2', timestamp: at(5), model: 'gpt-5', credits: 1, tokens: { input: 7, output: 2 }, toMessageId: 9 },
    ],
  },
};
/**
 * Each message's counts once, plus ledger entries that belong to no message. OpenAI bills no cache writes, so they
 * count as input.
 */
const EXPECTED = {
  responses: 3,
  input: 10 + 900 + 7,
  output: 178 + 42 + 2,
  cacheRead: 11_372 + 12_000,
  cacheWrite: 986,
};

it('reads an exported thread', async () => {
  const read = await readTranscript(JSON.stringify(THREAD, null, 2));
  expect(listIssues(read)).toEqual([]);
  expect(read.identity).toMatchObject({ agent: 'amp', format: 'amp-thread', sessionId: THREAD.id });
  expect(countTokens(read)).toEqual(EXPECTED);
  expect(read.metadata).toMatchObject({
    ...{ title: 'Heron', cwd: '/home/ada/app' },
    ...{ repository: 'https://example.org/ada/app', commitHash: 'c0ffee' },
  });
  expect(read.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Find the heron' });
  expect(read.toolCalls).toMatchObject([{ tool_kind: 'shell', program: 'git', is_error: false, output_bytes: 9 }]);
});

it('gives the messages of a fork the same keys', async () => {
  const keys = async (thread: object) =>
    (await readTranscript(JSON.stringify(thread))).apiResponses.map((row) => row.response_key);
  const fork = { ...THREAD, id: 'T-019b0000-0000-7000-8000-000000000002', usageLedger: undefined };
  expect(await keys(fork)).toEqual((await keys(THREAD)).slice(0, 2));
});

it('has no model, and so no price, for a stream, which names none', async () => {
  const session_id = THREAD.id;
  const content = [{ type: 'text', text: 'Here' }];
  const message = { type: 'message', role: 'assistant', content, usage: { input_tokens: 5, output_tokens: 7 } };
  const stream = toJsonLines([
    { type: 'system', subtype: 'init', cwd: '/home/ada/app', session_id, tools: [], mcp_servers: [] },
    { type: 'assistant', message, parent_tool_use_id: null, session_id },
  ]);
  const read = await readTranscript(stream);
  expect(read.identity).toMatchObject({ format: 'amp-stream-json' });
  expect(read.apiResponses).toMatchObject([{ model: UNKNOWN_MODEL, tokens_in: 5, tokens_out: 7 }]);
});

/** A thread of 2025, whose answers have neither times nor models. */
const old = (usage: object | undefined, ledger: object | undefined) => ({
  ...{ v: 9, id: THREAD.id, created: Date.parse(at(0)), title: 'Heron' },
  messages: [
    { role: 'user', messageId: 0, content: [{ type: 'text', text: 'Find it' }], meta: { sentAt: Date.parse(at(10)) } },
    { role: 'assistant', messageId: 1, content: [{ type: 'text', text: 'Where?' }], usage },
    { role: 'user', messageId: 2, content: [{ type: 'text', text: 'There' }], meta: { sentAt: Date.parse(at(20)) } },
    { role: 'assistant', messageId: 3, content: [{ type: 'text', text: 'Yes' }] },
  ],
  ...(ledger !== undefined && { usageLedger: ledger }),
});
const event = (second: number, toMessageId: number, input: number, output: number) => ({
  ...{ id: `e-${toMessageId}`, timestamp: at(second), model: 'claude-haiku-4-5-20251001' },
  ...{ tokens: { input, output }, toMessageId },
});

it('dates answers by the ledger, or else by what was sent before them', async () => {
  const usage = { inputTokens: 10, outputTokens: 2 };
  const events = { events: [event(12, 1, 10, 2), event(23, 3, 30, 4)] };
  for (const [document, seconds] of [
    [old(undefined, events), [10, 12, 20, 23]],
    [old(usage, events), [10, 12, 20, 23]],
    [{ usageLedger: events, ...old(usage, undefined) }, [10, 12, 20, 23]],
    [old(usage, { events: [event(23, 3, 30, 4)] }), [10, 10, 20, 23]],
    [old(usage, undefined), [10, 10, 20, 20]],
  ] as const) {
    const read = await readTranscript(JSON.stringify(document));
    expect(listIssues(read)).toEqual([]);
    expect(read.messages.map((message) => message.timestamp)).toEqual(seconds.map(at));
    const counted = 'usageLedger' in document ? [10, 30] : [10];
    expect(read.apiResponses.map((row) => row.tokens_in)).toEqual(counted);
    expect(read.apiResponses.map((row) => row.timestamp)).toEqual([at(seconds[1]), at(23)].slice(0, counted.length));
    expect(read.messages[3]).toMatchObject({ tokens_in: counted[1] ?? null });
  }
});

it('compares the ledger and the totals with what the messages state', async () => {
  const mismatches = async (usage: object, ledger: object) =>
    (await readTranscript(JSON.stringify(old(usage, { events: [ledger] })))).warnings.map(({ error }) => error);
  const usage = { inputTokens: 10, cacheReadInputTokens: 90, outputTokens: 2, totalInputTokens: 100 };
  expect(await mismatches(usage, event(12, 1, 100, 2))).toEqual([]);
  expect(await mismatches(usage, event(12, 1, 10, 2))).toEqual([]);
  expect(await mismatches({ ...usage, totalInputTokens: 120 }, event(12, 1, 50, 3))).toEqual([
    'Input tokens of the messages: 120 stated, 100 counted',
    'Input tokens of the ledger: 50 stated, 100 counted',
    'Output tokens of the ledger: 3 stated, 2 counted',
  ]);
});

it('names members, blocks and fields of usage that it does not know', async () => {
  const novelty = { text: 'Seen', usage: { input_tokens: 5 } };
  const thread = {
    ...old({ inputTokens: 1, outputTokens: 1, audioTokens: 7 }, undefined),
    draft: [{ type: 'text', text: 'It was not sent' }],
    novelty,
  };
  thread.messages[1] = { ...thread.messages[1], content: [{ type: 'plumage', text: 'grey' }] } as never;
  const { notices } = await readTranscript(JSON.stringify(thread));
  expect(notices.map(({ error }) => error)).toEqual([
    'Unknown field of usage: audioTokens',
    'Unknown type of content block: plumage',
    'Unknown line type: novelty',
    'Usage that is not counted, in lines of type novelty',
    'Text that is not shown, in lines of type novelty',
  ]);
});
