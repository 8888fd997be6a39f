import { expect, it } from 'vitest';
import { countTokens, readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';

const at = (second: number) => new Date(Date.UTC(2026, 4, 12, 8, 0, second)).toISOString().replace('Z', '');
const tokens = (prompt: number, completion: number, id = '') => ({
  ...{ prompt_tokens: prompt, completion_tokens: completion, cache_read_tokens: 0, cache_write_tokens: 0 },
  response_id: id,
});
const head = (agentMetrics: object) => [
  { recount: 'session', version: 1, agent: 'openhands', session: 'o-1' },
  {
    file: 'o-1/base_state.json',
    value: {
      id: 'o-1',
      agent: { llm: { model: 'litellm_proxy/claude-sonnet-4-5' } },
      stats: { usage_to_metrics: { agent: agentMetrics } },
    },
  },
];
const event = (second: number, kind: string, more: object) => ({
  file: `o-1/events/event-${second}.json`,
  value: { kind, id: `e-${second}`, timestamp: at(second), source: 'environment', ...more },
});
const text = (words: string) => ({ type: 'text', text: words });

it('compares the sums that the state keeps with its responses and costs', async () => {
  const lists = {
    token_usages: [tokens(100, 10, 'chatcmpl-00000000000000000001'), tokens(200, 20, 'chatcmpl-00000000000000000002')],
    costs: [{ cost: 0.1 }, { cost: 0.2 }],
  };
  const right = { ...lists, accumulated_token_usage: tokens(300, 30), accumulated_cost: 0.30000000000000004 };
  expect((await readTranscript(toJsonLines(head(right)))).warnings).toEqual([]);
  const wrong = { ...lists, accumulated_token_usage: tokens(300, 33), accumulated_cost: 0.5 };
  const read = await readTranscript(toJsonLines(head(wrong)));
  expect(countTokens(read)).toMatchObject({ responses: 2, input: 300, output: 30 });
  expect(read.warnings.map(({ code, error }) => `${code}: ${error}`)).toEqual([
    'total_mismatch: Sum of completion_tokens of a use of a model: 33 stated, 30 counted',
    'total_mismatch: Millionths of a dollar of a use of a model: 500000 stated, 300000 counted',
  ]);
});

it('names a state that has its usage in another form', async () => {
  const state = (value: object) => [head({})[0], { file: 'o-1/base_state.json', value: { id: 'o-1', ...value } }];
  const metrics = (agent: unknown) => state({ stats: { usage_to_metrics: { agent } } });
  for (const lines of [
    state({}),
    state({ stats: { models: { agent: { token_usages: [tokens(5, 1)] } } } }),
    state({ stats: [] }),
    metrics([tokens(5, 1)]),
    metrics({ token_usages: { first: tokens(5, 1) } }),
    metrics({ token_usages: [7] }),
    metrics({ accumulated_token_usage: 7 }),
  ]) {
    const read = await readTranscript(toJsonLines(lines));
    expect(read.warnings.map(({ code }) => code)).toContain('invalid_usage');
    expect(read.apiResponses).toEqual([]);
  }
  const read = await readTranscript(toJsonLines([head({})[0], { file: 'o-1/base_state.json', value: [tokens(5, 1)] }]));
  expect(read.errors.map(({ code }) => code)).toEqual(['invalid_json']);
});

it('keeps the texts of prompts, summaries, failures, reasoning, and calls of agents behind the ACP', async () => {
  const call = { tool_call_id: 'c-1', title: 'Bash', raw_input: { command: 'ls nest' } };
  const read = await readTranscript(
    toJsonLines([
      ...head({}),
      event(1, 'SystemPromptEvent', { system_prompt: text('Be brief'), dynamic_context: text('It rains') }),
      event(2, 'MessageEvent', {
        ...{ source: 'user', llm_message: { role: 'user', content: [text('Look')] } },
        extended_content: [text('Herons are grey')],
      }),
      event(3, 'MessageEvent', {
        source: 'agent',
        llm_message: { content: [text('Here')], responses_reasoning_item: { summary: ['In the reeds'] } },
      }),
      event(4, 'ACPToolCallEvent', { ...call, status: 'in_progress' }),
      event(5, 'ACPToolCallEvent', { ...call, status: 'completed', raw_output: 'egg' }),
      event(6, 'Condensation', { summary: 'All of it' }),
      event(7, 'ConversationErrorEvent', { code: 'Budget', detail: 'No money left' }),
      event(8, 'HookExecutionEvent', { hook_command: 'make all the birds sing', stdout: 'they sing all the day' }),
      event(9, 'WingbeatEvent', { usage: { prompt_tokens: 5 } }),
      event(10, 'PauseEvent', { note: 'a pause that is long enough' }),
      { file: 'o-1/events/event-11.json', text: '{torn' },
    ]),
  );
  expect(read.contentBlocks.map((block) => block.content_text ?? block.thinking_text ?? block.result_text)).toEqual([
    ...['Be brief', 'It rains', 'Look', 'Herons are grey', 'In the reeds', 'Here', null, 'egg', 'All of it'],
    'No money left',
  ]);
  expect(read.toolCalls).toMatchObject([{ tool_name: 'Bash', tool_kind: 'shell', program: 'ls', is_error: false }]);
  expect(read.errors.map(({ code }) => code)).toEqual(['invalid_json']);
  expect(read.notices.map(({ error }) => error)).toEqual([
    'Unknown line type: WingbeatEvent',
    'Usage that is not counted, in lines of type WingbeatEvent',
    'Text that is not shown, in lines of type PauseEvent',
  ]);
});
