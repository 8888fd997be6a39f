import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { parseTranscript } from '../../parse/parse-transcript.ts';
import { toUuid7 } from '../../testing/codex-threads.ts';
import { toJsonl } from '../../testing/transcript-lines.ts';

const THREAD = toUuid7(Date.UTC(2026, 7, 1), 1);
const TURN = toUuid7(Date.UTC(2026, 7, 1, 0, 1), 2);
const EARLIER_TURN = toUuid7(Date.UTC(2026, 6, 31), 3);

const meta = (fields: JsonObject = {}): JsonObject => ({
  type: 'session_meta',
  payload: {
    id: THREAD,
    cwd: '/app',
    cli_version: '0.150.0',
    originator: 'codex-tui',
    git: { branch: 'main', repository_url: 'https://ada:s3cret@example.org/ada/app.git', commit_hash: 'c0ffee' },
    ...fields,
  },
});
const context = (fields: JsonObject = {}): JsonObject => ({
  type: 'turn_context',
  payload: { turn_id: TURN, model: 'gpt-5.5', effort: 'high', approval_policy: 'never', ...fields },
});
const item = (type: string, fields: JsonObject): JsonObject => ({
  type: 'response_item',
  payload: { type, ...fields },
});
const event = (type: string, fields: JsonObject = {}): JsonObject => ({
  type: 'event_msg',
  payload: { type, ...fields },
});
const toCounts = (input: number, output: number): JsonObject => ({ input_tokens: input, output_tokens: output });
const count = (total: JsonObject | null, last: JsonObject | null): JsonObject =>
  event('token_count', { info: { total_token_usage: total, last_token_usage: last } });
const call = (fields: JsonObject = {}): JsonObject =>
  item('function_call', { name: 'shell', call_id: 'call_00000000000000000001', arguments: '{}', ...fields });
const output = (value: JsonValue): JsonObject =>
  item('function_call_output', { call_id: 'call_00000000000000000001', output: value });
const said = (text: string): JsonObject =>
  item('message', { role: 'assistant', content: [{ type: 'output_text', text }] });
const typed = (text: string): JsonObject => item('message', { role: 'user', content: [{ type: 'input_text', text }] });

const parse = (...lines: JsonObject[]) =>
  parseTranscript('s', Buffer.from(toJsonl(...lines)), { format: 'codex-rollout' });
const sum = async (...lines: JsonObject[]) => {
  const { stats } = await parse(...lines);
  return [stats.tokens_in, stats.tokens_out];
};

describe('a rollout', () => {
  it('has one message for all items of a response, with its usage, and one for each output', async () => {
    const { messages, apiResponses, toolCalls, metadata, errors } = await parse(
      meta(),
      event('task_started', { turn_id: TURN }),
      context({ sandbox_policy: { type: 'danger-full-access' } }),
      typed('Look for the heron'),
      item('reasoning', { summary: [{ type: 'summary_text', text: 'Where is it?' }], encrypted_content: 'x' }),
      said('I look.'),
      event('agent_message', { message: 'I look.' }),
      call({ arguments: '{"command":["bash","-lc","cd /app && git log"]}' }),
      output('Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno'),
      event('token_count', {
        info: {
          total_token_usage: { ...toCounts(100, 20), cached_input_tokens: 60, reasoning_output_tokens: 5 },
          last_token_usage: { ...toCounts(100, 20), cached_input_tokens: 60, reasoning_output_tokens: 5 },
        },
        rate_limits: { plan_type: 'pro' },
      }),
      said('No heron.'),
      count(toCounts(210, 25), toCounts(110, 5)),
    );
    expect(errors).toEqual([]);
    expect(messages.map((message) => [message.message_type, message.tokens_in, message.tokens_out])).toEqual([
      ['user', null, null],
      ['assistant', 40, 20],
      ['user', null, null],
      ['assistant', 110, 5],
    ]);
    expect(messages[0]?.metadata).toEqual({ approval_policy: 'never', sandbox: 'danger-full-access' });
    expect(messages[3]?.metadata).toMatchObject({ effort: 'high', plan_type: 'pro' });
    expect(apiResponses).toMatchObject([
      {
        response_key: `${TURN}/100.60.20.5`,
        model: 'gpt-5.5',
        cache_read: 60,
        thinking_tokens: 5,
        is_unfinalised: false,
      },
      { response_key: `${TURN}/110.0.5.0` },
    ]);
    expect(toolCalls).toMatchObject([
      { tool_kind: 'shell', program: 'git', is_error: true, response_key: `${TURN}/100.60.20.5` },
    ]);
    expect(metadata).toMatchObject({
      sessionId: THREAD,
      version: '0.150.0',
      gitBranch: 'main',
      repository: 'https://example.org/ada/app.git',
      commitHash: 'c0ffee',
      entrypoint: 'codex-tui',
      permissionMode: 'never',
      models: ['gpt-5.5'],
    });
  });

  it('counts what was added after a repetition, a reset, and without a total', async () => {
    const turn = [meta(), context()];
    expect(await sum(...turn, count(toCounts(9, 1), toCounts(9, 1)), count(toCounts(9, 1), toCounts(9, 1)))).toEqual([
      9, 1,
    ]);
    expect(await sum(...turn, count(toCounts(9, 1), toCounts(9, 1)), count(toCounts(4, 2), toCounts(4, 2)))).toEqual([
      13, 3,
    ]);
    expect(await sum(...turn, count(null, toCounts(9, 1)), count(null, toCounts(9, 1)))).toEqual([9, 1]);
    expect(await sum(...turn, count(toCounts(9, 1), null), count(toCounts(20, 3), null))).toEqual([20, 3]);
    expect(await sum(...turn, event('token_count', { info: null }))).toEqual([0, 0]);
    // Codex declared the context full. That is not usage.
    const full = { ...toCounts(0, 0), total_tokens: 1000 };
    expect(await sum(...turn, count(toCounts(9, 1), toCounts(9, 1)), count(full, full))).toEqual([9, 1]);
  });

  it('counts a response that was interrupted before its count from the next total', async () => {
    const { stats, apiResponses, warnings } = await parse(
      meta(),
      context(),
      said('One'),
      count(toCounts(10, 1), toCounts(10, 1)),
      said('Two'),
      event('turn_aborted'),
      said('Three'),
      count(toCounts(45, 9), toCounts(20, 3)),
    );
    expect([stats.tokens_in, stats.tokens_out]).toEqual([45, 9]);
    expect(apiResponses.map(({ tokens_in, line_number }) => [tokens_in, line_number])).toEqual([
      [10, 3],
      [15, 5],
      [20, 7],
    ]);
    expect(warnings).toMatchObject([{ code: 'uncounted_response', lineNumber: 8 }]);
  });

  it('does not count what a fork or a resumed thread inherited', async () => {
    expect(await sum(meta({ forked_from_id: 'x' }), context(), count(toCounts(1000, 90), toCounts(10, 1)))).toEqual([
      10, 1,
    ]);
    const resumed = [meta(), context(), count(toCounts(10, 1), toCounts(10, 1)), meta()];
    expect(await sum(...resumed, count(toCounts(500, 50), toCounts(10, 1)))).toEqual([20, 2]);
  });

  it('counts a response once that has a record, a count, and a compaction that names it', async () => {
    const record = { thread_id: THREAD, turn_id: TURN, response_id: 'resp_1', usage: toCounts(10, 1) };
    const { apiResponses } = await parse(
      meta(),
      context(),
      said('One'),
      { type: 'token_usage_record', payload: record },
      count(toCounts(10, 1), toCounts(10, 1)),
      { type: 'compacted', payload: { message: '', replacement_history: [], latest_token_usage_record: record } },
    );
    expect(apiResponses).toMatchObject([{ tokens_in: 10, request_id: 'resp_1', source: 'message' }]);
  });

  it('marks what it copied from the thread that it was forked from', async () => {
    const source = { subagent: { thread_spawn: { parent_thread_id: 'p' } } };
    const { apiResponses, stats } = await parse(
      meta({ source }),
      { type: 'session_meta', payload: { id: 'p' } },
      event('task_started', { turn_id: EARLIER_TURN }),
      typed('Asked of the parent'),
      count(toCounts(10, 1), toCounts(10, 1)),
      event('task_started', { turn_id: TURN }),
      context(),
      typed('Asked of the sub-agent'),
      said('Own'),
      count(toCounts(15, 2), toCounts(5, 1)),
    );
    expect(apiResponses).toMatchObject([
      { response_key: `${EARLIER_TURN}/10.0.1.0`, is_marked_copy: true, is_subagent: true, model: 'unknown' },
      { response_key: `${TURN}/5.0.1.0`, is_marked_copy: false, is_subagent: true },
    ]);
    expect(stats).toMatchObject({ initial_prompt: 'Asked of the sub-agent', prompt_count: 0 });
  });

  it('can consist of the bare items of old versions', async () => {
    const { messages, toolCalls, metadata, errors } = await parse(
      { id: THREAD, timestamp: '2025-06-01T00:00:00Z', instructions: null },
      { record_type: 'state' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
      { type: 'local_shell_call', call_id: 'call-1', status: 'completed', action: { command: ['ls'] } },
      { type: 'function_call_output', call_id: 'call-1', output: '{"output":"a","metadata":{"exit_code":0}}' },
    );
    expect(errors).toEqual([]);
    expect(messages.map((message) => message.message_type)).toEqual(['user', 'assistant', 'user']);
    expect(toolCalls).toMatchObject([{ tool_name: 'local_shell', program: 'ls', is_error: false }]);
    expect(metadata.sessionId).toBe(THREAD);
  });
});

describe('an item of a rollout', () => {
  it.each<[JsonObject, JsonObject]>([
    [call({ name: 'exec_command', arguments: '{"cmd":"npm test"}' }), { tool_kind: 'shell', program: 'npm' }],
    [
      item('custom_tool_call', { name: 'apply_patch', call_id: 'c', input: '*** Begin Patch\n*** Add File: a.ts\n+' }),
      { tool_kind: 'edit', file_path: 'a.ts' },
    ],
    [
      item('web_search_call', { action: { type: 'search', query: 'heron' } }),
      { tool_kind: 'web', tool_name: 'web_search' },
    ],
    [
      call({ namespace: 'mcp__wiki', name: 'ask' }),
      { tool_kind: 'mcp', tool_name: 'mcp__wiki__ask', mcp_server: 'wiki' },
    ],
    [
      call({ name: 'spawn_agent', arguments: '{"agent_type":"worker"}' }),
      { tool_kind: 'agent', subagent_type: 'worker' },
    ],
    [call({ name: 'update_plan', arguments: 'no json' }), { tool_kind: 'plan' }],
  ])('is a tool call: %j', async (line, expected) => {
    expect((await parse(meta(), line)).toolCalls).toMatchObject([expected]);
  });

  it.each<[JsonValue, boolean, boolean]>([
    ['{"output":"x","metadata":{"exit_code":2}}', true, false],
    ['Chunk ID: 1\nProcess exited with code 0\nOutput:\nExit code: 1', false, false],
    ['patch rejected by user', true, true],
    [{ content: 'x', success: false }, true, false],
    [
      [
        { type: 'input_text', text: 'x' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
      ],
      false,
      false,
    ],
  ])('is an output: %j', async (value, isError, isDenied) => {
    expect((await parse(meta(), call(), output(value))).toolCalls).toMatchObject([
      { is_error: isError, is_denied: isDenied },
    ]);
  });

  it('keeps neither media nor characters that Postgres refuses', async () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAABBBB' };
    const { contentBlocks } = await parse(
      meta(),
      item('message', { role: 'user', content: [image] }),
      call({ arguments: '{"text":"a\\u0000b"}' }),
    );
    expect(contentBlocks).toMatchObject([
      { block_type: 'image', metadata: { media_type: 'image/png', byte_length: 6 } },
      { block_type: 'tool_use', tool_input: { text: 'a\uFFFDb' } },
    ]);
  });

  it('is a prompt if a person typed it', async () => {
    const { events, stats } = await parse(
      meta(),
      typed('<environment_context>\n</environment_context>'),
      typed('# AGENTS.md instructions for /app'),
      typed('# Context from my IDE setup:\n\n## Open tabs:\n- a\n\n## My request for Codex:\nFind the heron'),
      event('user_message', { message: 'Find the heron' }),
    );
    expect(events).toMatchObject([{ kind: 'prompt' }]);
    expect(stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Find the heron' });
  });
});

describe('the tier of a response', () => {
  const tiersOf = async (...lines: JsonObject[]) =>
    (await parse(meta(), ...lines)).apiResponses.map((row) => row.service_tier);
  const settings = (fields: JsonObject): JsonObject =>
    event('thread_settings_applied', { thread_settings: { model: 'gpt-5.5', ...fields } });
  const used = (input: number, fields: JsonObject = {}): JsonObject =>
    event('token_count', { info: { last_token_usage: toCounts(input, 1) }, ...fields });

  it('is the last stated one, by whichever line', async () => {
    for (const fast of [
      settings({ service_tier: 'priority' }),
      context({ service_tier: 'priority' }),
      event('session_configured', { model: 'gpt-5.5', service_tier: 'priority' }),
    ]) {
      expect(await tiersOf(context(), used(1), fast, used(2), context(), used(3))).toEqual([
        null,
        'priority',
        'priority',
      ]);
    }
    expect(await tiersOf(context(), used(1, { service_tier: 'flex' }))).toEqual(['flex']);
    const record = {
      thread_id: THREAD,
      turn_id: TURN,
      response_id: 'resp_1',
      usage: toCounts(7, 1),
      service_tier: 'fast',
    };
    expect(await tiersOf(context(), { type: 'token_usage_record', payload: record })).toEqual(['fast']);
  });

  it('is named if it is unknown', async () => {
    const noticesOf = async (tier: JsonValue) =>
      (await parse(meta(), context({ service_tier: tier }), used(1))).notices.map(({ error }) => error);
    expect(await noticesOf('heron')).toEqual(['Unknown tier: heron']);
    for (const odd of [7, { heron: 1 }]) {
      expect(await noticesOf(odd)).toEqual(['Unknown tier: unknown']);
      expect(await tiersOf(context({ service_tier: odd }), used(1))).toEqual(['unknown']);
    }
    for (const tier of ['priority', 'fast', 'flex', 'batch', 'ultrafast']) expect(await noticesOf(tier)).toEqual([]);
  });

  it('is the same in capitals', async () => {
    for (const [stated, tier] of [
      ['FAST', 'fast'],
      ['Priority', 'priority'],
      ['Default', null],
    ] as const) {
      const { apiResponses, notices } = await parse(meta(), context({ service_tier: stated }), used(1));
      expect(apiResponses.map((row) => row.service_tier)).toEqual([tier]);
      expect(notices).toEqual([]);
    }
  });

  it('is the standard one again if settings state none', async () => {
    for (const standard of [settings({}), settings({ service_tier: null }), settings({ service_tier: 'default' })]) {
      expect(await tiersOf(context(), settings({ service_tier: 'fast' }), used(1), standard, used(2))).toEqual([
        'fast',
        null,
      ]);
    }
  });
});

describe('what a rollout holds besides', () => {
  const noticesOf = async (...lines: JsonObject[]) => (await parse(meta(), ...lines)).notices.map(({ error }) => error);

  it('is named if it is unknown, with the text and the usage in it', async () => {
    const novelty = { text: 'Seen', usage: { input_tokens: 5 } };
    for (const [line, name] of [
      [event('novelty_end', novelty), 'event_msg/novelty_end'],
      [item('novelty', novelty), 'response_item/novelty'],
      [{ type: 'novelty', payload: novelty }, 'novelty'],
    ] as const) {
      expect(await noticesOf(line, line)).toEqual([
        `Unknown line type: ${name}`,
        `Usage that is not counted, in lines of type ${name}`,
        `Text that is not shown, in lines of type ${name}`,
      ]);
    }
    const content = [{ type: 'novelty', text: 'Seen' }];
    const { contentBlocks, notices } = await parse(meta(), item('message', { role: 'assistant', content }));
    expect(contentBlocks.map((block) => block.content_text)).toEqual(['Seen']);
    expect(notices.map(({ error }) => error)).toEqual(['Unknown type of content block: novelty']);
  });

  it('is silent for a known type, unless it holds unexpected content', async () => {
    const mirror = event('agent_message', { message: 'I have looked for the heron' });
    expect(await noticesOf(mirror, event('token_count', { info: null, rate_limits: null }))).toEqual([]);
    expect(await noticesOf(event('agent_message', { message: 'x', usage: { output_tokens: 3 } }))).toEqual([
      'Usage that is not counted, in lines of type event_msg/agent_message',
    ]);
    expect(await noticesOf(event('hook_completed', { comment: 'It has seen a heron' }))).toEqual([
      'Text that is not shown, in lines of type event_msg/hook_completed',
    ]);
  });

  it('is named if a script called a tool, because its call is no item', async () => {
    const ended = (callId: string, fields: JsonObject = {}): JsonObject =>
      event('exec_command_end', { call_id: callId, aggregated_output: 'two lines of text', ...fields });
    const known = 'call_00000000000000000001';
    expect(await noticesOf(call(), ended(known), ended('call_2', { source: 'user_shell' }))).toEqual([]);
    expect(await noticesOf(call(), ended('exec-1'))).toEqual([
      'Text that is not shown, in lines of type event_msg/exec_command_end without an item',
    ]);
  });

  it('is a message if it is nowhere else', async () => {
    const error = { message: 'You have hit your limit', codex_error_info: 'usage_limit_exceeded' };
    const { messages, contentBlocks, events, notices } = await parse(
      meta(),
      {
        type: 'inter_agent_communication',
        payload: { author: '/root', recipient: '/root/scout', content: 'Look', trigger_turn: true },
      },
      { type: 'realtime_item', payload: { type: 'transcript_segment', role: 'user', text: 'Where is it?' } },
      { type: 'realtime_item', payload: { type: 'transcript_segment', role: 'assistant', text: 'I ask' } },
      { type: 'realtime_item', payload: { type: 'realtime_session_closed', outcome: 'done' } },
      event('error', error),
      event('task_complete', { turn_id: TURN, error }),
      event('task_started', { turn_id: TURN }),
      event('turn_aborted', { turn_id: TURN, error }),
    );
    expect(messages.map(({ message_type: type, metadata }) => [type, metadata])).toEqual([
      ['user', { author: '/root' }],
      ['user', { is_spoken: true }],
      ['assistant', { is_spoken: true }],
      ['system', { level: 'error' }],
      ['system', { level: 'error' }],
    ]);
    expect(contentBlocks.map((block) => block.content_text)).toEqual([
      'Look',
      'Where is it?',
      'I ask',
      error.message,
      error.message,
    ]);
    expect(events.map(({ kind, name }) => [kind, name])).toEqual([
      ['api_error', 'usage_limit_exceeded'],
      ['api_error', 'usage_limit_exceeded'],
      ['turn', 'conversation'],
    ]);
    expect(notices).toEqual([]);
  });
});

describe("the thread's total", () => {
  const mismatches = async (...lines: JsonObject[]) =>
    (await parse(meta(), context(), ...lines)).warnings
      .filter(({ code }) => code === 'total_mismatch')
      .map(({ error }) => error);
  const record = (id: string, input: number, total: number, fields: JsonObject = {}): JsonObject => ({
    type: 'token_usage_record',
    payload: {
      ...{ thread_id: THREAD, turn_id: TURN, response_id: id },
      ...{ usage: toCounts(input, 1), thread_token_usage: toCounts(total, 1), ...fields },
    },
  });

  it('grows by what was counted', async () => {
    expect(await mismatches(count(toCounts(9, 1), toCounts(9, 1)), count(toCounts(20, 3), toCounts(11, 2)))).toEqual(
      [],
    );
    expect(
      await mismatches(
        record('resp_1', 9, 9),
        count(toCounts(9, 1), toCounts(9, 1)),
        record('resp_2', 11, 20, { thread_token_usage: toCounts(20, 2) }),
        count(toCounts(20, 2), toCounts(11, 1)),
      ),
    ).toEqual([]);
  });

  it('is compared with what was counted, and a difference has both figures', async () => {
    expect(await mismatches(count(toCounts(9, 1), toCounts(9, 1)), count(toCounts(20, 2), toCounts(11, 5)))).toEqual([
      'Output tokens of the thread: 2 stated, 6 counted',
    ]);
    // With records, nothing is interrupted without one.
    expect(
      await mismatches(
        record('resp_1', 9, 9),
        count(toCounts(9, 1), toCounts(9, 1)),
        record('resp_2', 11, 50),
        count(toCounts(50, 2), toCounts(11, 1)),
      ),
    ).toEqual([
      'Input tokens of the thread: 50 stated, 20 counted',
      "Input tokens of the thread's records: 50 stated, 20 counted",
      "Output tokens of the thread's records: 1 stated, 2 counted",
    ]);
  });

  it('may start again, be inherited, or contain an interrupted response', async () => {
    const first = count(toCounts(900, 9), toCounts(9, 1));
    expect(await mismatches(first, count(toCounts(4, 2), toCounts(4, 2)))).toEqual([]);
    for (const between of [{ type: 'compacted', payload: { message: '' } }, event('thread_rolled_back'), meta()]) {
      expect(await mismatches(first, between, count(toCounts(40, 2), toCounts(4, 2)))).toEqual([]);
    }
    expect(await mismatches(first, count(toCounts(920, 14), toCounts(11, 2)))).toEqual([]);
    expect(await mismatches(first, first, count(toCounts(911, 10), toCounts(11, 1)))).toEqual([]);
  });
});

it('reports token counts of another form', async () => {
  const info = (value: JsonValue): JsonObject => event('token_count', { info: value });
  const cases: [JsonObject, string][] = [
    [info({ total_token_usage: '{"input_tokens": 5}' }), 'total_token_usage'],
    [info({ total_token_usage: [5], last_token_usage: null }), 'total_token_usage'],
    [info({ total_token_usage: { input_tokens: { text: 5 } } }), 'input_tokens'],
    [info({ total_token_usage: null, last_token_usage: 7 }), 'last_token_usage'],
    [info([{ input_tokens: 5 }]), 'info'],
    [{ type: 'token_usage_record', payload: { thread_id: THREAD, usage: [5] } }, 'usage'],
  ];
  for (const [line, field] of cases) {
    const { apiResponses, warnings } = await parse(meta(), context(), line);
    expect(apiResponses).toEqual([]);
    expect(warnings.map(({ error }) => error)).toContain(`Usage field ${field} is no plausible figure`);
  }
});

it('names tiers and counts that it does not know, in rollouts and streams', async () => {
  const usage = { ...toCounts(7, 1), audio_tokens: 3 };
  const expected = ['Unknown tier: novelty', 'Unknown field of usage: audio_tokens'];
  const rollout = await parse(meta(), context({ service_tier: 'novelty' }), count(null, usage));
  expect(rollout.notices.map(({ error }) => error)).toEqual(expected);
  expect(rollout.apiResponses).toMatchObject([{ service_tier: 'novelty' }]);
  const stream = toJsonl(
    { type: 'thread.started', thread_id: 't' },
    { type: 'turn.completed', usage, service_tier: 'novelty' },
  );
  const { notices } = await parseTranscript('s', Buffer.from(stream), { format: 'codex-exec' });
  expect(notices.map(({ error }) => error)).toEqual(expected);
});
