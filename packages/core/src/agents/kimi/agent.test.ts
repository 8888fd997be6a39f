import { describe, expect, it } from 'vitest';
import { countTokens, listIssues, readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';

const START = Date.UTC(2026, 6, 25, 8);
const record = (type: string, second: number, more: object) => ({ type, ...more, time: START + second * 1000 });
const event = (type: string, second: number, more: object) =>
  record('context.append_loop_event', second, { event: { type, turnId: '0', step: 1, ...more } });
const usage = (inputOther: number, output: number, inputCacheRead: number) => ({
  usage: { inputOther, output, inputCacheRead, inputCacheCreation: 0 },
});
const step = '381bd9c3-486b-41bf-b250-21feb57b5d13';

it('counts a step of Kimi Code once, and requests outside the loop', async () => {
  const lines = [
    { type: 'metadata', protocol_version: '1.4', created_at: START },
    record('config.update', 0, { modelAlias: 'moonshot-ai/kimi-k2.7-code', cwd: '/home/ada/app' }),
    record('turn.prompt', 1, { input: [{ type: 'text', text: 'Find the heron' }], origin: { kind: 'user' } }),
    event('step.begin', 2, { uuid: step }),
    record('llm.request', 2, { model: 'kimi-k2.7-code' }),
    event('content.part', 3, { uuid: 'x', stepUuid: step, part: { type: 'think', think: 'Where?' } }),
    event('tool.call', 4, {
      uuid: 'Glob_0',
      stepUuid: step,
      toolCallId: 'Glob_0',
      name: 'Glob',
      args: { pattern: '*' },
    }),
    event('tool.result', 5, { parentUuid: 'Glob_0', toolCallId: 'Glob_0', result: { output: 'a.md' } }),
    event('step.end', 6, { uuid: step, ...usage(100, 20, 50), finishReason: 'tool_use' }),
    record('usage.record', 6, { model: 'moonshot-ai/kimi-k2.7-code', ...usage(100, 20, 50), usageScope: 'turn' }),
    record('usage.record', 7, { model: 'moonshot-ai/kimi-k2.7-code', ...usage(7, 3, 0), usageScope: 'session' }),
  ];
  const folder = '/h/.kimi-code/sessions/wd_app_ab12/session_1bcbe023/agents';
  const read = await readTranscript(toJsonLines(lines), `${folder}/main/wire.jsonl`);
  expect(listIssues(read)).toEqual([]);
  expect(read.identity).toMatchObject({ agent: 'kimi', sessionId: '1bcbe023', isSubagent: false });
  expect(countTokens(read)).toEqual({ responses: 2, input: 107, output: 23, cacheRead: 50, cacheWrite: 0 });
  expect(read.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Find the heron', thinking_blocks: 1 });
  expect(read.toolCalls).toMatchObject([{ tool_kind: 'search', is_error: false, duration_ms: 1000, output_bytes: 4 }]);
  const child = await readTranscript(toJsonLines(lines), `${folder}/agent-0/wire.jsonl`);
  expect(child.identity).toMatchObject({
    sessionId: '1bcbe023:agent-0',
    isSubagent: true,
    parentSessionId: '1bcbe023',
  });
});

it('reads the older records of Kimi CLI', async () => {
  const old = (type: string, second: number, payload: object) => ({
    timestamp: START / 1000 + second,
    message: { type, payload },
  });
  const lines = [
    { type: 'metadata', protocol_version: '1.1' },
    old('TurnBegin', 1, { user_input: [{ type: 'text', text: 'Find the heron' }] }),
    old('StepBegin', 2, { n: 1 }),
    old('ContentPart', 3, { type: 'text', text: 'Looking' }),
    old('ToolCall', 4, { type: 'function', id: 'Shell:0', function: { name: 'Shell', arguments: '{"command":"ls"}' } }),
    old('ToolResult', 5, { tool_call_id: 'Shell:0', return_value: { is_error: false, output: 'a.md' } }),
    old('StatusUpdate', 6, {
      context_usage: 0.1,
      message_id: 'chatcmpl-1',
      token_usage: { input_other: 100, output: 20, input_cache_read: 50, input_cache_creation: 5 },
    }),
  ];
  const read = await readTranscript(toJsonLines(lines), '/h/.kimi/sessions/0cc1/7d3f/wire.jsonl');
  expect(listIssues(read)).toEqual([]);
  expect(read.identity).toMatchObject({ sessionId: '7d3f', isSubagent: false });
  expect(countTokens(read)).toEqual({ responses: 1, input: 100, output: 20, cacheRead: 50, cacheWrite: 5 });
  expect(read.toolCalls).toMatchObject([{ tool_kind: 'shell', program: 'ls', is_error: false }]);
});

const FOLDER = '/h/.kimi-code/sessions/wd_app_ab12/session_1bcbe023/agents/main/wire.jsonl';
const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const begin = (second: number, number: number) => event('step.begin', second, { uuid: uuid(number) });
const text = (second: number, number: number) =>
  event('content.part', second, { uuid: 'x', stepUuid: uuid(number), part: { type: 'text', text: 'Here' } });
const end = (second: number, number: number, ...counts: Parameters<typeof usage>) =>
  event('step.end', second, { uuid: uuid(number), ...usage(...counts), finishReason: 'end_turn' });
const used = (second: number, usageScope: string | undefined, ...counts: Parameters<typeof usage>) =>
  record('usage.record', second, { model: 'k3', ...usage(...counts), usageScope });
const START_15 = [
  { type: 'metadata', protocol_version: '1.5', created_at: START },
  record('profile.bind', 0, { modelAlias: 'k3', environmentDisclosure: { cwd: '/home/ada/app' }, systemPrompt: 'x' }),
  record('turn.prompt', 1, { input: [{ type: 'text', text: 'Find the heron' }], origin: { kind: 'user' } }),
];
const request = (second: number) => record('llm.request', second, { model: 'kimi-k3', modelAlias: 'k3' });
const readMain = (...lines: object[]) => readTranscript(toJsonLines([...START_15, ...lines]), FOLDER);

describe('a step of Kimi Code and its usage record', () => {
  const before = [begin(2, 1), request(2), used(3, 'turn', 100, 20, 50), text(3, 1), end(4, 1, 100, 20, 50)];
  const after = [begin(5, 2), request(5), text(6, 2), end(7, 2, 100, 20, 50), used(7, 'turn', 100, 20, 50)];

  it('count once whichever comes first, with the model that the request names', async () => {
    const read = await readMain(...before, ...after);
    expect(listIssues(read)).toEqual([]);
    expect(countTokens(read)).toEqual({ responses: 2, input: 200, output: 40, cacheRead: 100, cacheWrite: 0 });
    expect(read.apiResponses.map(({ model }) => model)).toEqual(['kimi-k3', 'kimi-k3']);
    expect(read.messages.filter(({ role }) => role === 'assistant').map(({ tokens_in }) => tokens_in)).toEqual([
      100, 100,
    ]);
    expect(read.metadata.cwd).toBe('/home/ada/app');
  });

  it('count once if the record has no scope', async () => {
    const lines = [...before, ...after].map((line) => ({ ...line, usageScope: undefined }));
    expect(countTokens(await readMain(...lines))).toEqual({
      ...{ responses: 2, input: 200, output: 40, cacheRead: 100, cacheWrite: 0 },
    });
  });

  it('count by the record alone if the step has no end, or is requested again', async () => {
    const killed = await readMain(...before.slice(0, 3));
    expect(countTokens(killed)).toMatchObject({ responses: 1, output: 20 });
    const again = [begin(2, 1), used(3, 'turn', 90, 10, 0), used(4, 'turn', 100, 20, 50), text(5, 1)];
    const read = await readMain(...again, end(6, 1, 100, 20, 50));
    expect(listIssues(read)).toEqual([]);
    expect(countTokens(read)).toEqual({ responses: 2, input: 190, output: 30, cacheRead: 50, cacheWrite: 0 });
  });

  it('leave a compaction within a step a separate response', async () => {
    const read = await readMain(begin(2, 1), used(2, 'session', 100, 20, 50), ...before.slice(1));
    expect(countTokens(read)).toMatchObject({ responses: 2, output: 40 });
  });

  it('leave a request after the step a separate response that has the same counts', async () => {
    for (const scope of ['session', 'turn']) {
      const read = await readMain(...after, used(8, scope, 100, 20, 50));
      expect(listIssues(read)).toEqual([]);
      expect(countTokens(read)).toMatchObject({ responses: 2, input: 200, output: 40 });
    }
  });

  it('are reported if they differ, and count once', async () => {
    const early = await readMain(begin(2, 1), used(3, 'turn', 100, 25, 50), text(3, 1), end(4, 1, 100, 20, 50));
    const late = await readMain(begin(2, 1), text(3, 1), end(4, 1, 100, 20, 50), used(4, 'turn', 100, 25, 50));
    for (const read of [early, late]) {
      expect(countTokens(read)).toEqual({ responses: 1, input: 100, output: 25, cacheRead: 50, cacheWrite: 0 });
      expect(read.warnings).toMatchObject([
        {
          code: 'total_mismatch',
          error: 'Output tokens of a step and of its usage.record: 20 stated, 25 counted',
        },
      ]);
    }
  });
});

it('shows what else Kimi Code tells, once', async () => {
  const message = (second: number, text: string, more: object) =>
    record('context.append_message', second, { message: { role: 'user', content: [{ type: 'text', text }], ...more } });
  const read = await readMain(
    message(1, 'Find the heron', { origin: { kind: 'user' } }),
    message(2, '<system-reminder>It is Friday</system-reminder>', { origin: { kind: 'injection' } }),
    message(3, 'The command is done', { origin: { kind: 'shell_command' } }),
    record('context.apply_compaction', 4, { summary: 'The heron was found', compactedCount: 2, tokensBefore: 900 }),
    record('full_compaction.complete', 4, {}),
    record('turn.ended', 5, { reason: 'failed', error: { code: 'provider.rate_limit', message: 'Too many requests' } }),
    record('agent.message.appended', 6, { message: { meta: { usage: { output: 3 } } } }),
    record('heron.seen', 7, { usage: { output: 3 }, text: 'Hm' }),
    event('step.novelty', 8, { text: 'Hm' }),
    record('task.started', 9, { usage: { output: 3 } }),
  );
  expect(read.contentBlocks.map(({ content_text }) => content_text)).toEqual([
    ...['Find the heron', 'The command is done', 'The heron was found', 'Too many requests'],
  ]);
  expect(read.events.map(({ kind }) => kind)).toEqual(['prompt', 'compaction', 'api_error']);
  expect(read.notices.map(({ error }) => error)).toEqual([
    'Unknown line type: heron.seen',
    'Usage that is not counted, in lines of type heron.seen',
    'Text that is not shown, in lines of type heron.seen',
    'Unknown line type: context.append_loop_event/step.novelty',
    'Text that is not shown, in lines of type context.append_loop_event/step.novelty',
    'Usage that is not counted, in lines of type task.started',
  ]);
});

describe('Kimi CLI', () => {
  const old = (second: number, type: string, payload: object) => ({
    timestamp: START / 1000 + second,
    message: { type, payload },
  });
  const inner = (second: number, type: string, payload: object, more: object = { task_tool_call_id: 'tool_T' }) =>
    old(second, 'SubagentEvent', { ...more, event: { type, payload } });
  const status = (message_id: string | null, output: number) => ({
    ...{ message_id, context_usage: 0.1 },
    token_usage: { input_other: 10, output, input_cache_read: 100, input_cache_creation: 0 },
  });
  const call = (id: string, name: string, given: string) => ({
    type: 'function',
    id,
    function: { name, arguments: given },
  });
  const META = { type: 'metadata', protocol_version: '1.3' };
  const PATH = '/h/.kimi/sessions/0cc1/7d3f/wire.jsonl';
  const read = (...lines: object[]) => readTranscript(toJsonLines([META, ...lines]), PATH);

  it('makes one message of a step, named by its status', async () => {
    const parsed = await read(
      old(1, 'TurnBegin', { user_input: 'Find the heron' }),
      old(2, 'StepBegin', { n: 1 }),
      old(3, 'ContentPart', { type: 'think', think: 'Where?' }),
      old(4, 'ContentPart', { type: 'text', text: 'Looking' }),
      old(5, 'ToolCall', call('tool_A', 'Shell', '{"command":"ls"}')),
      old(6, 'ToolResult', {
        tool_call_id: 'tool_A',
        return_value: { is_error: true, output: '', message: 'No such' },
      }),
      old(7, 'StatusUpdate', status('chatcmpl-1', 5)),
      old(8, 'StepBegin', { n: 2 }),
      old(9, 'ContentPart', { type: 'text', text: 'Found' }),
      old(10, 'StatusUpdate', status('chatcmpl-2', 7)),
    );
    expect(listIssues(parsed)).toEqual([]);
    const answers = parsed.messages.filter(({ role }) => role === 'assistant');
    expect(answers.map(({ tokens_out }) => tokens_out)).toEqual([5, 7]);
    expect(parsed.contentBlocks.map(({ block_type }) => block_type)).toEqual([
      ...['text', 'thinking', 'text', 'tool_use', 'tool_result', 'text'],
    ]);
    expect(parsed.contentBlocks.map(({ result_text }) => result_text)).toContain('No such');
  });

  it('joins the pieces of a call, also of concurrent calls and of one that never ends', async () => {
    const parsed = await read(
      old(1, 'ToolCall', call('tool_A', 'ReadFile', '{"path": "backend/r')),
      old(1, 'ToolCallPart', { arguments_part: 'ailway' }),
      inner(1, 'ToolCall', call('tool_S', 'Shell', '{"command":')),
      old(1, 'ToolCallPart', { arguments_part: '.json"}' }),
      inner(1, 'ToolCallPart', { arguments_part: '"git log"}' }),
      old(2, 'ToolCall', call('tool_B', 'ReadFile', '')),
      old(2, 'ToolCallPart', { arguments_part: '{"path":"b"}' }),
      old(3, 'ToolCall', call('tool_C', 'ReadFile', '{"path":"torn')),
    );
    const inputs = parsed.contentBlocks.map(({ tool_use_id, tool_input }) => [tool_use_id, tool_input]);
    expect(Object.fromEntries(inputs)).toEqual({
      tool_A: { path: 'backend/railway.json' },
      tool_S: { command: 'git log' },
      tool_B: { path: 'b' },
      tool_C: '{"path":"torn',
    });
  });

  it('counts the events of sub-agents, which are sidechain messages of the call that started them', async () => {
    const id = (number: number) => `chatcmpl-${String(number).padStart(24, '0')}`;
    const inside = [
      inner(3, 'TurnBegin', { user_input: 'Look' }),
      inner(4, 'ContentPart', { type: 'text', text: 'I look' }),
      inner(5, 'ToolCall', call('tool_S', 'Shell', '{"command":"ls"}')),
      inner(5, 'StatusUpdate', status(id(2), 700)),
      inner(6, 'ToolResult', { tool_call_id: 'tool_S', return_value: { is_error: false, output: 'a.md' } }),
      inner(7, 'StatusUpdate', status(id(3), 50)),
    ];
    const parsed = await read(
      old(1, 'TurnBegin', { user_input: 'Find the heron' }),
      old(2, 'ToolCall', call('tool_T', 'Task', '{"prompt":"Look"}')),
      ...inside,
      old(8, 'ToolResult', { tool_call_id: 'tool_T', return_value: { output: 'done' } }),
      old(9, 'StatusUpdate', status(id(1), 10)),
    );
    expect(listIssues(parsed)).toEqual([]);
    expect(countTokens(parsed)).toEqual({ responses: 3, input: 30, output: 760, cacheRead: 300, cacheWrite: 0 });
    expect(parsed.stats.prompt_count).toBe(1);
    expect(parsed.apiResponses.filter(({ is_subagent }) => is_subagent)).toHaveLength(2);
    expect(parsed.messages.filter(({ is_sidechain }) => is_sidechain).map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'user'],
    ]);
    expect(parsed.toolCalls.map(({ tool_name }) => tool_name).toSorted()).toEqual(['Shell', 'Task']);
  });

  it('names the responses of a sub-agent as its own file does', async () => {
    const known = { parent_tool_call_id: 'tool_T', agent_id: 'a1', subagent_type: 'coder' };
    const parent = await read(inner(5, 'StatusUpdate', status('chatcmpl-2', 700), known));
    const path = '/h/.kimi/sessions/0cc1/7d3f/subagents/a1/wire.jsonl';
    const own = await readTranscript(toJsonLines([META, old(6, 'StatusUpdate', status('chatcmpl-2', 700))]), path);
    expect(own.identity).toMatchObject({ sessionId: '7d3f:a1', isSubagent: true, parentSessionId: '7d3f' });
    expect(own.apiResponses.map(({ response_key }) => response_key)).toEqual(
      parent.apiResponses.map(({ response_key }) => response_key),
    );
  });

  it('shows questions, requests for permission, and prompts typed at the same time', async () => {
    const options = [{ label: 'Here', description: 'by the pond' }];
    const parsed = await read(
      old(1, 'QuestionRequest', { id: 'q', tool_call_id: 't', questions: [{ question: 'Where?', options }] }),
      old(2, 'ApprovalRequest', { id: 'a', tool_call_id: 't', action: 'run command', description: 'rm -r nest' }),
      old(3, 'ApprovalResponse', { request_id: 'a', response: 'reject', feedback: 'Leave the nest alone' }),
      old(4, 'SteerInput', { user_input: 'Quickly' }),
      old(5, 'BtwBegin', { id: 'b', question: 'What is an egret?' }),
      old(6, 'BtwEnd', { id: 'b', response: 'A heron' }),
      old(7, 'Notification', { title: 'Done', body: 'The task has ended' }),
      old(8, 'HeronSeen', { text: 'Hm', token_usage: { output: 3 } }),
    );
    expect(parsed.contentBlocks.map(({ content_text }) => content_text)).toEqual([
      ...['Where?\n- Here: by the pond', 'run command: rm -r nest', 'reject: Leave the nest alone', 'Quickly'],
      ...['What is an egret?', 'A heron', 'Done\nThe task has ended'],
    ]);
    expect(parsed.stats.prompt_count).toBe(2);
    expect(parsed.notices.map(({ error }) => error)).toEqual([
      'Unknown line type: HeronSeen',
      'Usage that is not counted, in lines of type HeronSeen',
      'Text that is not shown, in lines of type HeronSeen',
    ]);
  });
});

it('takes the model of a step from its request and its record, if the session names none or another', async () => {
  const toStep = (uuid: string, model: string, tokens: number, request?: object) => [
    event('step.begin', 2, { uuid }),
    ...(request === undefined ? [] : [record('llm.request', 2, request)]),
    record('usage.record', 3, { model, ...usage(tokens, tokens, 0), usageScope: 'turn' }),
    event('content.part', 4, { uuid: 'x', stepUuid: uuid, part: { type: 'text', text: 'Here' } }),
    event('step.end', 5, { uuid, ...usage(tokens, tokens, 0) }),
  ];
  const modelsOf = async (...lines: object[]) =>
    (
      await readTranscript(toJsonLines(lines), '/h/.kimi-code/sessions/wd_a/session_b/agents/main/wire.jsonl')
    ).apiResponses.map((row) => row.model);
  const meta = { type: 'metadata', protocol_version: '1.5', created_at: START };
  expect(await modelsOf(meta, ...toStep('a', 'kimi-k3', 1), ...toStep('b', 'kimi-k3', 2))).toEqual([
    'kimi-k3',
    'kimi-k3',
  ]);
  const bind = record('profile.bind', 0, { modelAlias: 'kimi-k3' });
  const lines = [...toStep('a', 'kimi-k2.5', 1, { modelAlias: 'kimi-k2.5' }), ...toStep('b', 'kimi-k2.6', 2)];
  expect(await modelsOf(meta, bind, ...lines, ...toStep('c', 'kimi-k3', 3))).toEqual([
    'kimi-k2.5',
    'kimi-k2.6',
    'kimi-k3',
  ]);
});

it('names counts of a usage that no rule reads', async () => {
  const lines = [
    { type: 'metadata', protocol_version: '1.5', created_at: START },
    record('usage.record', 3, { model: 'kimi-k3', usage: { inputOther: 5, heronTokens: 7 }, usageScope: 'session' }),
  ];
  const read = await readTranscript(toJsonLines(lines), '/h/.kimi-code/sessions/wd_a/session_b/agents/main/wire.jsonl');
  expect(read.notices.map(({ error }) => error)).toEqual(['Unknown field of usage: heronTokens']);
});
