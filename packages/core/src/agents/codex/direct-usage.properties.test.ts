import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { type CodexGeneration, createThreadMaker } from '../../testing/codex-threads.ts';
import { expectDirectAgreement } from '../../testing/direct-scan.ts';

const expectAgreement = (lines: readonly (JsonObject | string)[], ending = '\n'): boolean =>
  expectDirectAgreement(
    'codex-rollout',
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n') + ending,
  );

/** Small ranges, so that different responses often have the same tokens. */
const tokens = fc
  .record({ cached: fc.constantFrom(0, 64), fresh: fc.integer({ min: 1, max: 3 }), output: fc.nat(2) })
  .map(({ cached, fresh, output }) => ({ input: cached + fresh, cached, output, reasoning: 0 }));

const thread = fc
  .record({
    generation: fc.constantFrom<CodexGeneration>('old', 'turns', 'records'),
    turns: fc.array(fc.array(tokens, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
    kind: fc.constantFrom('own', 'own', 'fork', 'subagent'),
    isRestamped: fc.boolean(),
  })
  .map(({ generation, turns, kind, isRestamped }) => {
    const maker = createThreadMaker();
    const meta = { git: { branch: 'main' } };
    let made = maker.begin(generation, meta);
    for (const [index, responses] of turns.entries()) {
      maker.addTurn(made, `Prompt ${index}`, responses);
      if (index === 0 && kind !== 'own')
        // Before turns had ids, there were no sub-agents.
        made = maker.fork(made, { isSubagent: kind === 'subagent' && generation !== 'old', isRestamped, meta });
    }
    return made.lines;
  });

const toLine = (type: string, payload: JsonValue, timestamp = '2026-08-01T00:00:30.000Z'): JsonObject => ({
  timestamp,
  type,
  payload,
});
const event = (type: string, fields: JsonObject = {}) => toLine('event_msg', { type, ...fields });
const item = (type: string, fields: JsonObject = {}) => toLine('response_item', { type, ...fields });
const counts = (input: JsonValue) => ({ input_tokens: input, output_tokens: 2 });

/** Lines that the made-up threads lack. */
const LINES: readonly (JsonObject | string)[] = [
  item('message', { role: 'assistant', content: 'Done' }),
  item('message', { role: 'developer', content: [{ type: 'input_text', text: 'Be kind' }] }),
  item('message', { role: 'user', content: '<environment_context>x</environment_context>' }),
  item('message', { role: 'user', content: [{ type: 'input_text', text: 'Once more' }] }),
  item('agent_message', { author: 'other', content: 'From another agent' }),
  item('web_search_call', { action: { query: 'heron' } }),
  item('custom_tool_call_output', { call_id: 'call_1', output: 'x\u0000\ud800' }),
  item('custom_tool_call', { call_id: 'call_1', name: 'apply_patch', input: '*' }),
  item('ghost_snapshot', { ghost_commit: { id: 'x' } }),
  item('new_kind', { text: 'of a later version' }),
  toLine('inter_agent_communication', { content: 'Hello' }),
  event('agent_message', { message: 'Done' }),
  event('exec_command_end', { call_id: 'call_1', aggregated_output: 'x' }),
  event('exec_command_end', { call_id: 'call_2', usage: { input_tokens: 5 } }),
  event('error', { message: 'Too long' }),
  event('stream_error', { message: 'Too long' }),
  event('turn_aborted', { error: { message: 'Stopped' } }),
  event('task_complete', { turn_id: null }),
  event('task_started', { turn_id: '0198648a-0000-7000-8000-00000000abcd' }),
  event('thread_rolled_back'),
  event('thread_settings_applied', { thread_settings: { model: 'gpt-6', service_tier: 'flex' } }),
  event('session_configured', { model: 'gpt-5', service_tier: 'auto' }),
  event('token_count', { info: { last_token_usage: counts(7) } }),
  event('token_count', { info: { total_token_usage: counts(3), last_token_usage: counts(3) } }),
  event('token_count', { info: { total_token_usage: counts(900), last_token_usage: counts(3) } }),
  event('token_count', { info: null, service_tier: 'fast' }),
  event('token_count', { info: { last_token_usage: { ...counts(5), new_kind_tokens: 9 } } }),
  event('token_count', { info: 'none', service_tier: 'unheard' }),
  event('turn.completed', { usage: counts(4) }),
  toLine('turn_context', { model: 'gpt-6', cwd: '/elsewhere' }),
  toLine('token_usage_record', { usage: counts(4), response_id: 'resp_of_the_direct_scan' }),
  toLine('token_usage_record', {
    usage: { ...counts(4), service_tier: 'priority' },
    turn_id: 'turn-of-the-direct-scan',
  }),
  toLine('compacted', { message: 'The story so far' }),
  toLine('compacted', { latest_token_usage_record: { usage: counts(4), turn_id: 'turn-of-the-direct-scan' } }),
  toLine('session_meta', { id: 'another-thread', cwd: '/other', git: null }),
  toLine('realtime_item', { type: 'transcript_segment', role: 'assistant', text: 'Hello' }),
  toLine('new_kind', { output_tokens: 5 }),
  { type: 'message', role: 'assistant', content: [] },
  { timestamp: 'soon', type: 'response_item', payload: { type: 'reasoning', summary: [] } },
  { record_type: 'state' },
  '',
  '7',
  '{"timestamp":"2026-08-01T00:00:01.000Z","type":"event_msg","payload":{"type":"token_cou',
  '{"type":"compacted","payload":{}}{"type":"turn_context","payload":{"model":"glued"}}',
];

/** A change of a thread's lines. */
const change = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom('add', 'add', 'add', 'drop', 'repeat', 'swap'),
  line: fc.constantFrom(...LINES),
});

describe('the direct reader of rollouts', () => {
  it('finds what the reader finds, in every rollout that it does not refuse', () => {
    fc.assert(
      fc.property(thread, fc.array(change, { maxLength: 6 }), fc.boolean(), (made, changes, isEnded) => {
        const lines: (JsonObject | string)[] = [...made];
        for (const { at, kind, line } of changes) {
          const index = at % (lines.length + 1);
          const [own = ''] = lines.slice(index);
          if (kind === 'add') lines.splice(index, 0, line);
          else if (kind === 'drop') lines.splice(index, 1);
          else if (kind === 'repeat') lines.splice(index, 0, own);
          else lines.splice(index, 2, ...lines.slice(index, index + 2).reverse());
        }
        expectAgreement(lines, isEnded ? '\n' : '');
      }),
    );
  });

  it('accepts ordinary rollouts, and their copies in forks and sub-agents', () => {
    fc.assert(
      fc.property(thread, (lines) => {
        expect(expectAgreement(lines)).toBe(true);
      }),
    );
  });

  it('leaves what casts doubt on the counts to the reader', () => {
    const maker = createThreadMaker();
    const { lines } = maker.begin('turns');
    expect(expectAgreement([...lines, event('token_count', { info: null })])).toBe(true);
    for (const doubtful of [
      event('turn.completed', { usage: counts(4) }),
      event('token_count', { info: null, service_tier: 'unheard' }),
      toLine('realtime_item', { type: 'transcript_segment', role: 'assistant', text: 'Hello' }),
    ])
      expect(expectAgreement([...lines, doubtful])).toBe(false);
  });

  it('leaves items that are far from their usage to the reader', () => {
    const used = { input: 5, cached: 0, output: 1, reasoning: 0 };
    const toLines = (count: number) => {
      const maker = createThreadMaker();
      const made = maker.begin('turns');
      maker.addTurn(made, 'Find the heron', [used]);
      const between = Array.from({ length: count }, () => item('message', { role: 'developer', content: [] }));
      return [...made.lines.slice(0, -1), ...between, ...made.lines.slice(-1)];
    };
    expect(expectAgreement(toLines(1990))).toBe(true);
    expect(expectAgreement(toLines(2000))).toBe(false);
  });
});
