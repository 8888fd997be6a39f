import { describe, expect, it } from 'vitest';
import { countTokens, listIssues, readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';

const at = (second: number) => new Date(Date.UTC(2026, 7, 17, 12, 0, second)).toISOString();
const id = (number: number) => `019f0000-0000-7000-8000-${String(number).padStart(12, '0')}`;
let last: string | null = null;
const line = (type: string, number: number, more: object) => {
  const parentUuid = last;
  last = id(number);
  return {
    uuid: id(number),
    parentUuid,
    sessionId: id(999),
    timestamp: at(number),
    type,
    cwd: '/home/ada/app',
    version: '0.21.13',
    gitBranch: 'main',
    ...more,
  };
};
const counts = (
  promptTokenCount: number,
  candidatesTokenCount: number,
  cachedContentTokenCount: number,
  thoughtsTokenCount = 0,
) => ({
  usageMetadata: {
    promptTokenCount,
    candidatesTokenCount,
    cachedContentTokenCount,
    thoughtsTokenCount,
    totalTokenCount: promptTokenCount + candidatesTokenCount,
  },
});
const parts = (role: string, ...elements: object[]) => ({ message: { role, parts: elements } });
const SESSION = [
  line('user', 1, {
    ...parts('user', { text: 'Find the heron' }, { text: '<hook/>' }),
    systemPayload: { displayText: 'Find the heron' },
  }),
  line('system', 2, { subtype: 'ui_telemetry', systemPayload: { uiEvent: { input_token_count: 5000 } } }),
  // One response on two lines, the second with cumulative counts.
  line('assistant', 3, {
    model: 'qwen3-coder-plus',
    ...parts('model', { text: 'Hm', thought: true }),
    ...counts(1000, 20, 600, 5),
  }),
  line('assistant', 4, {
    model: 'qwen3-coder-plus',
    ...parts('model', {
      functionCall: { id: 'call_00000000000000000001', name: 'read_file', args: { absolute_path: '/a' } },
    }),
    ...counts(1000, 50, 600, 5),
  }),
  line('tool_result', 5, {
    ...parts('user', {
      functionResponse: { id: 'call_00000000000000000001', name: 'read_file', response: { output: 'grey' } },
    }),
    toolCallResult: { status: 'success' },
  }),
  line('assistant', 6, { model: 'qwen3-coder-plus', ...parts('model', { text: 'Grey' }), ...counts(1100, 30, 1000) }),
  line('system', 7, { subtype: 'slash_command', systemPayload: { phase: 'invocation', rawCommand: '/stats now' } }),
];

it('counts each response once, with thoughts in the output and the cache outside the input', async () => {
  const read = await readTranscript(toJsonLines(SESSION));
  expect(listIssues(read)).toEqual([]);
  expect(read.identity).toMatchObject({ agent: 'qwen', sessionId: id(999) });
  expect(countTokens(read)).toEqual({
    responses: 2,
    input: 400 + 100,
    output: 50 + 30,
    cacheRead: 600 + 1000,
    cacheWrite: 0,
  });
  expect(read.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Find the heron', thinking_blocks: 1 });
  expect(read.metadata).toMatchObject({
    cwd: '/home/ada/app',
    gitBranch: 'main',
    version: '0.21.13',
    models: ['qwen3-coder-plus'],
  });
  expect(read.toolCalls).toMatchObject([
    { tool_kind: 'read', file_path: '/a', is_error: false, output_bytes: 4, duration_ms: 1000 },
  ]);
  expect(read.events.map(({ kind, name }) => [kind, name])).toEqual([
    ['prompt', null],
    ['slash_command', '/stats'],
    ['turn', 'exploring'],
  ]);
});
describe('the telemetry', () => {
  const telemetry = (promptId: string, input: number, output: number, cached = 0, more: object = {}) =>
    line('system', 20, {
      subtype: 'ui_telemetry',
      systemPayload: {
        uiEvent: {
          'event.name': 'qwen-code.api_response',
          model: 'qwen3-coder-plus',
          input_token_count: input,
          output_token_count: output,
          cached_content_token_count: cached,
          thoughts_token_count: 0,
          total_token_count: input + output,
          prompt_id: promptId,
          ...more,
        },
      },
    });
  const answer = (input: number, output: number, cached = 0) =>
    line('assistant', 30 + input, {
      model: 'qwen3-coder-plus',
      ...parts('model', { text: 'x' }),
      ...counts(input, output, cached),
    });
  const main = `${id(999)}########0`;
  const child = `${id(999)}#debugger-57nz31#`;

  it('has what sub-agents use, once with their own files', async () => {
    const parent = [
      telemetry(main, 1000, 50),
      answer(1000, 50),
      telemetry(`${child}0`, 30_000, 2000, 20_000),
      telemetry(`${child}1`, 31_000, 300, 30_000),
      telemetry(`${id(999)}########0/automatic/3`, 1100, 60),
      answer(1100, 60),
    ];
    const read = await readTranscript(toJsonLines(parent));
    expect(listIssues(read)).toEqual([]);
    expect(countTokens(read)).toEqual({
      responses: 4,
      input: 1000 + 10_000 + 1000 + 1100,
      output: 50 + 2000 + 300 + 60,
      cacheRead: 50_000,
      cacheWrite: 0,
    });
    const ofAgent = read.apiResponses.filter(({ is_subagent }) => is_subagent);
    expect(ofAgent).toMatchObject([{ agent_id: 'debugger-57nz31', model: 'qwen3-coder-plus' }, {}]);

    const own = [counts(30_000, 2000, 20_000), counts(31_000, 300, 30_000)].map((usage, index) =>
      line('assistant', 50 + index, {
        ...{ isSidechain: true, agentId: 'debugger-57nz31', agentName: 'debugger' },
        ...{ ...parts('model', { text: 'y' }), ...usage },
      }),
    );
    const path = `projects/app/subagents/${id(999)}/agent-debugger-57nz31.jsonl`;
    const file = await readTranscript(toJsonLines(own), path);
    expect(file.identity).toMatchObject({ agent: 'qwen', isSubagent: true, parentSessionId: id(999) });
    const keys = (rows: typeof ofAgent) => rows.map(({ response_key }) => response_key);
    expect(keys(file.apiResponses)).toEqual(keys(ofAgent));
  });

  it('has the requests of a compression, which no message shows', async () => {
    const command = telemetry('compress-1795763430263', 4104, 94, 3066);
    const read = await readTranscript(toJsonLines([telemetry(main, 1000, 50), answer(1000, 50), command]));
    expect(listIssues(read)).toEqual([]);
    expect(countTokens(read)).toEqual({ responses: 2, input: 2038, output: 144, cacheRead: 3066, cacheWrite: 0 });
    expect(read.apiResponses.at(-1)).toMatchObject({ is_subagent: false, model: 'qwen3-coder-plus' });
  });

  it('is compared with the messages', async () => {
    const lines = [telemetry(main, 1000, 50), answer(1000, 70)];
    const { warnings } = await readTranscript(toJsonLines(lines));
    expect(warnings.map(({ code, error }) => [code, error])).toEqual([
      ['total_mismatch', 'Output tokens: 50 stated, 70 counted'],
    ]);
    // Messages from before the first telemetry were made by a version without it; a compression has no message.
    const compression = line('system', 60, { subtype: 'chat_compression', systemPayload: { info: {} } });
    for (const explained of [
      [answer(900, 5), ...lines.slice(0, 1), answer(1000, 50)],
      [...lines, compression],
      // The event may come after its message.
      [answer(1000, 50), telemetry(main, 1000, 50), answer(2000, 60), telemetry(main, 2000, 60)],
    ]) {
      expect((await readTranscript(toJsonLines(explained))).warnings).toEqual([]);
    }
  });

  it('says why requests failed', async () => {
    const error = { 'event.name': 'qwen-code.api_error', error_message: 'Too many herons', status_code: 429 };
    const read = await readTranscript(toJsonLines([SESSION[0], telemetry(main, 0, 0, 0, error)]));
    expect(listIssues(read)).toEqual([]);
    expect(read.contentBlocks.at(-1)?.content_text).toBe('Too many herons');
    expect(read.events.at(-1)).toMatchObject({ kind: 'api_error', name: '429' });
  });

  it('names unknown events and lines', async () => {
    const heron = telemetry('', 0, 0, 0, {
      'event.name': 'qwen-code.heron',
      input_tokens: 7,
      note: 'four words of text',
    });
    const other = line('system', 70, { subtype: 'heron', systemPayload: {} });
    const { notices } = await readTranscript(toJsonLines([SESSION[0], heron, other, line('heron', 71, {})]));
    expect(notices.map(({ error }) => error)).toEqual([
      'Unknown line type: heron',
      'Usage that is not counted, in lines of type heron',
      'Text that is not shown, in lines of type heron',
      'Unknown line type: system/heron',
    ]);
  });
});

it('counts what is typed while the agent works, and not what the program says', async () => {
  const typed = line('user', 80, { subtype: 'mid_turn_user_message', ...parts('user', { text: 'And the crane' }) });
  const told = line('user', 81, { subtype: 'notification', ...parts('user', { text: '<task-notification>' }) });
  expect((await readTranscript(toJsonLines([SESSION[0], typed, told]))).stats.prompt_count).toBe(2);
});

describe('the stream', () => {
  const session_id = id(500);
  const usage = (input_tokens: number, output_tokens: number, cache_read_input_tokens: number) => ({
    ...{ input_tokens, output_tokens, cache_read_input_tokens, total_tokens: input_tokens + output_tokens },
  });
  let count = 0;
  const assistant = (content: object, used: object = { input_tokens: 0, output_tokens: 0 }) => {
    const uuid = id(600 + ++count);
    const message = {
      id: uuid,
      type: 'message',
      role: 'assistant',
      model: 'qwen3-coder-plus',
      content: [content],
      usage: used,
    };
    return { type: 'assistant', uuid, session_id, parent_tool_use_id: null, message };
  };
  const init = {
    type: 'system',
    subtype: 'init',
    uuid: session_id,
    session_id,
    cwd: '/a',
    tools: [],
    model: 'm',
    qwen_code_version: '0.24.4',
  };
  const result = (used: object) => ({
    type: 'result',
    subtype: 'success',
    uuid: id(700),
    session_id,
    is_error: false,
    result: 'x',
    usage: used,
  });
  const call = { type: 'tool_use', id: 'call_1', name: 'run_shell_command', input: { command: 'ls' } };
  const answered = (content: object) => ({
    type: 'user',
    uuid: id(800),
    session_id,
    parent_tool_use_id: null,
    message: { role: 'user', content: [content] },
  });
  const lines = [
    init,
    assistant({ type: 'text', text: 'I look' }),
    assistant(call, usage(1000, 50, 600)),
    answered({ type: 'tool_result', tool_use_id: 'call_1', is_error: false, content: 'nest' }),
    assistant({ type: 'text', text: 'A nest' }, usage(1100, 20, 1000)),
  ];

  it('is Qwen’s, whichever line comes first, and counts cached input once', async () => {
    for (const from of [0, 1, 2]) {
      const read = await readTranscript(toJsonLines([...lines.slice(from), result(usage(2100, 70, 1600))]));
      expect(listIssues(read)).toEqual([]);
      expect(read.identity).toMatchObject({ agent: 'qwen', format: 'qwen-stream-json', sessionId: session_id });
      expect(countTokens(read)).toEqual({ responses: 2, input: 500, output: 70, cacheRead: 1600, cacheWrite: 0 });
      expect(read.toolCalls).toMatchObject([{ tool_kind: 'shell', program: 'ls', output_bytes: 4, is_error: false }]);
    }
  });

  it('is compared with its total, which may include earlier runs', async () => {
    const warningsOf = async (total: object) =>
      (await readTranscript(toJsonLines([...lines, result(total)]))).warnings.map(({ error }) => error);
    expect(await warningsOf(usage(5000, 90, 1600))).toEqual([]);
    expect(await warningsOf(usage(2100, 60, 1600))).toEqual(['Output tokens: 60 stated, 70 counted']);
  });

  it('has what sub-agents use in the total alone', async () => {
    const ended = (total_tokens: number) => ({
      ...{ type: 'system', subtype: 'task_notification', uuid: id(801), session_id },
      data: { task_id: 'a', status: 'completed', usage: { total_tokens, tool_uses: 1, duration_ms: 5 } },
    });
    const read = async (tokens: number) =>
      await readTranscript(toJsonLines([...lines, ended(tokens), result(usage(2600, 90, 1900))]));
    const exact = await read(520);
    expect(listIssues(exact)).toEqual([]);
    expect(countTokens(exact)).toEqual({ responses: 3, input: 700, output: 90, cacheRead: 1900, cacheWrite: 0 });
    expect(exact.apiResponses.at(-1)).toMatchObject({ is_subagent: true, model: 'unknown' });
    const resumed = await read(400);
    expect(countTokens(resumed)).toMatchObject({ responses: 2 });
    expect(resumed.notices).toMatchObject([{ code: 'unread_content' }]);
  });

  it('has no prompts but those that somebody typed', async () => {
    const told = answered({ type: 'text', text: 'Background agent "heron" completed.' });
    const typed = answered({ type: 'text', text: 'And the crane' });
    expect((await readTranscript(toJsonLines([...lines, told, typed]))).stats.prompt_count).toBe(1);
  });
});
