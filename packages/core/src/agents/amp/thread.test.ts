import { expect, it } from 'vitest';
import { UNKNOWN_MODEL } from '../../rows.ts';
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
 * Each message's counts once, plus ledger entries that belong to no message. OpenAI bills no cache writes: they count
 * as input.
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
