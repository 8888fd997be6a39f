import { describe, expect, it } from 'vitest';
import { UNKNOWN_MODEL } from '../../records/rows.ts';
import { countTokens, listIssues, readTranscript } from '../../testing/agent-transcripts.ts';

const START = 1_769_053_680_585;
const say = (second: number, kind: string, text: string, more = {}) => ({
  ts: START + second * 1000,
  type: 'say',
  say: kind,
  text,
  ...more,
});
const request = (second: number, figures: object) =>
  say(second, 'api_req_started', JSON.stringify({ request: '<task>', ...figures }), {
    modelInfo: { providerId: 'anthropic', modelId: 'claude-sonnet-4-5', mode: 'act' },
  });
const TASK = [
  say(0, 'text', 'Find the heron'),
  request(1, { tokensIn: 10, tokensOut: 20, cacheWrites: 30, cacheReads: 40, cost: 0.01 }),
  say(2, 'reasoning', 'Where?'),
  say(3, 'text', 'I will look'),
  { ts: START + 4000, type: 'ask', ask: 'tool', text: JSON.stringify({ tool: 'readFile', path: 'a.md' }) },
  say(5, 'checkpoint_created', ''),
  // Roo Code. With OpenAI's protocol, input includes the cache.
  request(6, { tokensIn: 100, tokensOut: 5, cacheWrites: 0, cacheReads: 60, cost: 0, apiProtocol: 'openai' }),
  request(7, {}),
  say(8, 'completion_result', 'Done'),
];
const folder = (extension: string) =>
  `/h/.config/Code/User/globalStorage/${extension}/tasks/1769053680585/ui_messages.json`;

it.each([
  ['cline', 'saoudrizwan.claude-dev'],
  ['roo', 'rooveterinaryinc.roo-cline'],
  ['kilo-code', 'kilocode.kilo-code'],
])('reads the task folder of %s', async (agent, extension) => {
  const read = await readTranscript(JSON.stringify(TASK), folder(extension));
  expect(listIssues(read)).toEqual([]);
  expect(read.identity).toMatchObject({ agent, sessionId: '1769053680585' });
  expect(countTokens(read)).toEqual({ responses: 2, input: 10 + 40, output: 25, cacheRead: 100, cacheWrite: 30 });
  expect(read.apiResponses.map((row) => [row.reported_cost_usd, row.model])).toEqual([
    [0.01, 'claude-sonnet-4-5'],
    [null, 'claude-sonnet-4-5'],
  ]);
  expect(read.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Find the heron', thinking_blocks: 1 });
  expect(read.toolCalls).toMatchObject([{ tool_name: 'readFile', tool_kind: 'read', file_path: 'a.md' }]);
});

it('gives a request the same key in every version of the document', async () => {
  const keys = async (task: object[]) =>
    (await readTranscript(JSON.stringify(task), folder('saoudrizwan.claude-dev'))).apiResponses.map(
      (row) => row.response_key,
    );
  expect(await keys(TASK.slice(0, 3))).toEqual((await keys(TASK)).slice(0, 1));
});

it('has no model, and so no price, for versions that kept none', async () => {
  const unnamed = TASK.map(({ modelInfo: _, ...entry }: (typeof TASK)[number] & { modelInfo?: unknown }) => entry);
  const read = await readTranscript(JSON.stringify(unnamed), folder('saoudrizwan.claude-dev'));
  expect(read.apiResponses.map((row) => [row.model, row.reported_cost_usd])).toEqual([
    [UNKNOWN_MODEL, 0.01],
    [UNKNOWN_MODEL, null],
  ]);
});

it('counts tokens of Roo Code with the cache, as both protocols have them since October 2025', async () => {
  const anthropic = { apiProtocol: 'anthropic', tokensOut: 5, cacheWrites: 30, cacheReads: 60 };
  const task = [
    say(0, 'text', 'Find the heron'),
    request(1, { ...anthropic, tokensIn: 100 }),
    // An older version. Without the cache, it is smaller than that.
    request(2, { ...anthropic, tokensIn: 4 }),
  ];
  const read = await readTranscript(JSON.stringify(task), folder('rooveterinaryinc.roo-cline'));
  expect(read.apiResponses.map((row) => row.tokens_in)).toEqual([10, 4]);
});

it('counts requests that only a sum, a sub-agent or the end of a request states', async () => {
  const used = (tokensIn: number) => JSON.stringify({ tokensIn, tokensOut: 1, cacheWrites: 2, cacheReads: 3 });
  const task = [
    say(0, 'text', 'Find the heron'),
    request(1, {}),
    say(2, 'api_req_finished', used(10)),
    say(3, 'subagent_usage', used(20)),
    say(4, 'deleted_api_reqs', used(30)),
    request(5, { tokensIn: 40, tokensOut: 1 }),
    say(6, 'api_req_finished', used(10)),
  ];
  const read = await readTranscript(JSON.stringify(task), folder('saoudrizwan.claude-dev'));
  expect(listIssues(read)).toEqual([]);
  expect(read.apiResponses.map((row) => [row.tokens_in, row.is_subagent])).toEqual([
    [10, false],
    [20, true],
    [30, false],
    [40, false],
  ]);
});

it('pairs calls of tools and MCP servers with their results, and keeps images, choices and failures', async () => {
  const ask = (second: number, kind: string, text: string) => ({
    ts: START + second * 1000,
    type: 'ask',
    ask: kind,
    text,
  });
  const image = 'data:image/png;base64,iVBORw0KGgo=';
  const mcp = { type: 'use_mcp_tool', serverName: 'birds', toolName: 'find', arguments: '{"name":"heron"}' };
  const task = [
    say(0, 'text', 'Find the heron', { images: [image] }),
    request(1, { tokensIn: 10, tokensOut: 20 }),
    say(2, 'text', 'I look'),
    ask(3, 'use_mcp_server', JSON.stringify(mcp)),
    say(4, 'mcp_server_request_started', ''),
    say(5, 'mcp_server_response', 'Error:\nno heron', { images: [image] }),
    request(6, { tokensIn: 11, tokensOut: 21 }),
    ask(7, 'command', 'ls nest'),
    ask(8, 'command_output', 'egg'),
    ask(9, 'api_req_failed', 'overloaded'),
    say(10, 'error_retry', JSON.stringify({ attempt: 2, maxAttempts: 3, errorMessage: 'still overloaded' })),
    ask(
      11,
      'followup',
      JSON.stringify({ question: 'Which one?', suggest: [{ answer: 'The grey one' }, 'The white one'] }),
    ),
    say(12, 'user_feedback', 'Grey'),
    say(13, 'condense_context', '', { contextCondense: { cost: 0.5, prevContextTokens: 900, summary: 'All of it' } }),
    say(14, 'diff_error', 'It did not fit'),
    say(15, 'checkpoint_created', 'abc'),
    say(16, 'task_progress', '- [ ] look for the heron'),
    say(17, 'heron', 'It stands still and waits'),
    request(18, { tokensIn: 1, tokensOut: 2, streamingFailedMessage: 'cut off' }),
  ];
  const read = await readTranscript(JSON.stringify(task), folder('rooveterinaryinc.roo-cline'));
  expect(read.toolCalls).toMatchObject([
    { tool_name: 'find', tool_kind: 'mcp', mcp_server: 'birds', is_error: true, duration_ms: 2000 },
    { tool_name: 'execute_command', program: 'ls', is_error: false, duration_ms: 1000, output_bytes: 3 },
  ]);
  expect(read.messages.map((row) => row.message_type)).toEqual([
    ...['user', 'assistant', 'user', 'assistant', 'user', 'system', 'system', 'user', 'summary', 'system', 'system'],
  ]);
  expect(read.contentBlocks.map((block) => block.block_type).slice(0, 5)).toEqual([
    ...['text', 'image', 'text', 'tool_use', 'tool_result'],
  ]);
  expect(read.contentBlocks.map((block) => block.content_text ?? block.result_text)).toEqual(
    expect.arrayContaining([
      ...['Error:\nno heron', 'egg', 'overloaded', 'still overloaded', 'All of it', 'It did not fit', 'cut off'],
      'Which one?\n- The grey one\n- The white one',
    ]),
  );
  const events = read.events.filter(({ kind }) => kind !== 'turn');
  expect(events.map(({ kind, details }) => [kind, details])).toEqual([
    ['prompt', {}],
    ['api_error', {}],
    ['api_retry', { retryAttempt: 2 }],
    ['prompt', {}],
    ['compaction', { preTokens: 900 }],
    ['api_error', {}],
  ]);
  expect(read.stats).toMatchObject({ prompt_count: 2, turn_count: 1 });
  expect(read.errors).toEqual([]);
  expect(read.notices.map(({ error }) => error)).toEqual([
    'Usage that is not counted, in lines of type condense_context',
    'Unknown line type: heron',
    'Text that is not shown, in lines of type heron',
  ]);
});

const message = (second: number, role: string, content: object[], more = {}) => ({
  ...{ id: `msg_${second}`, role, content, ts: START + second * 1000 },
  ...more,
});
const used = (inputTokens: number, outputTokens: number, cacheReadTokens = 0, cacheWriteTokens = 0, cost = 0) => ({
  modelInfo: { id: 'claude-sonnet-4-5', provider: 'anthropic' },
  metrics: { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cost },
});
const session = (sessionId: string, messages: object[], more: Record<string, unknown> = {}) =>
  JSON.stringify({
    ...{ version: 1, updated_at: '2026-11-20T08:00:02.000Z', agent: 'lead', sessionId },
    ...{ origin: { source: 'cli', mode: 'user', sessionId, version: '3.0.65' }, messages },
    ...more,
  });
const place = (root: string, name = root) => `/h/.cline/data/sessions/${root}/${name}.messages.json`;

describe('Cline 3', () => {
  it('reads a session with prompts, calls with results, what each request used, and the folder', async () => {
    const content = [{ query: 'ls nest', result: 'egg', success: false }];
    const text = session(
      '1769_a',
      [
        message(0, 'user', [
          { type: 'text', text: '<mode_notice>to act</mode_notice>\n<user_input mode="act">Find it</user_input>' },
          { type: 'file', path: '/app/a.md', content: 'heron' },
          { type: 'image', data: 'iVBORw0KGgo=', mediaType: 'image/png' },
        ]),
        message(
          1,
          'assistant',
          [
            { type: 'thinking', thinking: 'Where?' },
            { type: 'tool_use', id: 'call_1', name: 'run_commands', input: { commands: ['ls nest'] } },
            { type: 'tool_use', id: 'call_2', name: 'birds__find', input: {} },
            { type: 'tool_use', id: 'call_3', name: 'read_files', input: { files: [{ path: '/app/b.md' }] } },
          ],
          used(1000, 50, 600, 30, 0.02),
        ),
        message(2, 'user', [
          { type: 'tool_result', tool_use_id: 'call_1', name: 'run_commands', content },
          { type: 'tool_result', tool_use_id: 'call_2', name: 'birds__find', content: 'one', is_error: false },
        ]),
        message(3, 'user', [{ type: 'text', text: 'Go on' }], { metadata: { kind: 'completion_reminder' } }),
        // A provider that counts the cache apart.
        message(4, 'assistant', [{ type: 'text', text: 'Found' }], used(10, 5, 700)),
        message(5, 'assistant', [{ type: 'text', text: 'and gone' }]),
      ],
      {
        system_prompt: 'You are Cline.\n<env>\n4. Working Directory: /home/ada/app\n</env>',
        feather: { inputTokens: 3 },
      },
    );
    const read = await readTranscript(text, place('1769_a'));
    expect(read.identity).toMatchObject({ agent: 'cline', format: 'cline-session', sessionId: '1769_a' });
    expect(read.identity.isSubagent).toBe(false);
    expect(countTokens(read)).toEqual({ responses: 2, input: 370 + 10, output: 55, cacheRead: 1300, cacheWrite: 30 });
    expect(read.apiResponses.map((row) => row.reported_cost_usd)).toEqual([0.02, null]);
    expect(read.metadata).toMatchObject({ cwd: '/home/ada/app', version: '3.0.65', models: ['claude-sonnet-4-5'] });
    expect(read.stats).toMatchObject({ prompt_count: 1, turn_count: 1, initial_prompt: 'Find it' });
    expect(read.toolCalls).toMatchObject([
      { tool_kind: 'shell', program: 'ls', is_error: true, duration_ms: 1000 },
      { tool_kind: 'mcp', mcp_server: 'birds', is_error: false },
      { tool_kind: 'read', file_path: '/app/b.md' },
    ]);
    expect(read.contentBlocks.map((block) => block.result_text).filter(Boolean)).toEqual(['egg', 'one']);
    expect(read.contentBlocks.map((block) => block.block_type)).toContain('image');
    expect(read.notices.map(({ error }) => error)).toEqual([
      'Unknown line type: feather',
      'Usage that is not counted, in lines of type feather',
    ]);
  });

  it('reads sub-agents and teammates as separate sessions, with or without an origin', async () => {
    const messages = [message(0, 'user', [{ type: 'text', text: 'Look' }]), message(1, 'assistant', [], used(10, 5))];
    const origin = { source: 'cli', mode: 'subagent', parentThreadId: '1769_a', subagent: 'agent_1' };
    const child = { agent: 'subagent', taskType: 'subagent_task', origin };
    const read = await readTranscript(session('1769_a__agent_1', messages, child), place('1769_a', 'agent_1'));
    expect(listIssues(read)).toEqual([]);
    const identity = { agent: 'cline', isSubagent: true, parentSessionId: '1769_a', agentId: 'agent_1' };
    expect(read.identity).toMatchObject({ ...identity, sessionId: '1769_a__agent_1' });
    expect(read.apiResponses).toMatchObject([{ is_subagent: true, tokens_in: 10 }]);
    const mate = session('1769_a__teamtask__scout__x', messages, { agent: 'teammate', origin: undefined });
    expect((await readTranscript(mate, place('1769_a', 'scout__x'))).identity).toMatchObject({
      ...{ isSubagent: true, parentSessionId: '1769_a', sessionId: '1769_a__teamtask__scout__x' },
    });
  });

  it('recognises a session whose members come in another order or are missing', async () => {
    const messages = [message(0, 'user', [{ type: 'text', text: 'Look' }]), message(1, 'assistant', [], used(10, 5))];
    const known = { format: 'cline-session', isRecognised: true };
    const behind = JSON.stringify({ messages, sessionId: '1769_d', agent: 'lead', version: 1 });
    const read = await readTranscript(behind);
    expect(read.identity).toMatchObject({ ...known, sessionId: '1769_d' });
    expect(countTokens(read)).toMatchObject({ responses: 1, input: 10, output: 5 });
    const alone = await readTranscript(JSON.stringify({ messages }), place('1769_e'));
    expect(alone.identity).toMatchObject(known);
    expect(countTokens(alone)).toMatchObject({ responses: 1, input: 10, output: 5 });
    expect((await readTranscript(JSON.stringify({ messages }), '/h/notes.json')).identity.format).toBeUndefined();
  });

  it('gives answers the same keys in forks, and does not count what was imported from another agent', async () => {
    const messages = [
      message(0, 'user', [{ type: 'text', text: 'Look' }]),
      message(1, 'assistant', [{ type: 'text', text: 'Here' }], used(10, 5)),
    ];
    const keys = async (text: string) =>
      (await readTranscript(text, place('x'))).apiResponses.map((row) => row.response_key);
    expect(await keys(session('1769_b', messages))).toEqual(await keys(session('1769_a', messages)));
    const imported = [{ ...messages[0] }, { ...messages[1], id: 'V1StGXR8_Z5jdHi6B-myT' }];
    const more = message(3, 'assistant', [{ type: 'text', text: 'There' }], used(20, 6));
    const origin = { source: 'desktop', mode: 'import', trigger: 'claude-code', sessionId: '1769_c' };
    expect(await keys(session('1769_c', [...imported, more], { origin }))).toHaveLength(1);
  });
});
