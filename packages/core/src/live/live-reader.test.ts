import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../lines/json.ts';
import { assistantLine, only, toUsageFields, userLine } from '../testing/transcript-lines.ts';
import type { AgentEvent, ProgressEvent, TextEvent, ToolEndEvent } from './live-event.ts';
import { parserFor } from './parser-for.ts';
import {
  initLine,
  messageStart,
  resultLine,
  streamEvent,
  textDelta,
  toBytes,
  toolResult,
  toolUse,
} from './testing/stream-lines.ts';

function createReader(now: () => number) {
  const parser = parserFor('claude', { now });
  if (parser === undefined) throw new Error('No parser for claude');
  return parser;
}

function read(...lines: JsonObject[]) {
  let timeMs = 0;
  const reader = createReader(() => ++timeMs * 1000);
  const events = [...reader.push(toBytes(lines)), ...reader.finish()];
  return { events, summary: reader.toSummary() };
}

function ofType<T extends AgentEvent['type']>(events: AgentEvent[], type: T): Extract<AgentEvent, { type: T }>[] {
  return events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type);
}

const warnings = (events: AgentEvent[]): string[] => ofType(events, 'warning').map(({ warning: { code } }) => code);
const progress = (events: AgentEvent[], name: string): ProgressEvent[] =>
  ofType(events, 'progress').filter((event) => event.name === name);
const types = (events: AgentEvent[]): string[] => events.map(({ type }) => type);
const text = (value: string): JsonObject => ({ type: 'text', text: value });

describe('a session', () => {
  it('starts with its init line, which is emitted once', () => {
    const { events, summary } = read(initLine(), initLine(), initLine({ session_id: 'other' }));
    expect(ofType(events, 'session-start').map(({ sessionId, tools, model }) => [sessionId, tools, model])).toEqual([
      [expect.stringMatching(/^1111/), ['Read', 'Bash'], 'claude-opus-4-8'],
      ['other', ['Read', 'Bash'], 'claude-opus-4-8'],
    ]);
    expect(summary.agentSessionId).toBe('other');
  });

  it('has the first model seen, but not the synthetic one', () => {
    const { summary } = read(
      assistantLine('m1', [text('x')], { model: '<synthetic>' }),
      assistantLine('m2', [text('x')], { model: 'one' }),
      initLine({ model: 'two' }),
    );
    expect(summary.model).toBe('one');
  });

  it('warns once of a version that is newer than the known ones', () => {
    const { events } = read(initLine({ claude_code_version: '3.0.1' }), initLine({ claude_code_version: '3.0.1' }));
    expect(warnings(events)).toEqual(['unsupported_version']);
    expect(warnings(read(initLine({ claude_code_version: 'nightly' })).events)).toEqual(['unsupported_version']);
    expect(warnings(read(initLine({ claude_code_version: '0.2.9' })).events)).toEqual([]);
  });

  it('takes user messages with a uuid as checkpoints, but not those to sub-agents or synthetic ones', () => {
    const { events } = read(
      userLine('one', { uuid: 'u1' }),
      userLine([text('two'), text('three')]),
      userLine('four', { uuid: 'u4', parent_tool_use_id: 't1' }),
      userLine('five', { uuid: 'u5', isSynthetic: true }),
      userLine([toolResult('t0', 'x')], { uuid: 'u6' }),
    );
    const prompts = progress(events, 'user');
    expect(prompts.map((event) => [event.text, event.checkpoint, event.parentToolUseId])).toEqual([
      ['one', 'u1', undefined],
      ['two\nthree', undefined, undefined],
      ['four', undefined, 't1'],
      ['five', undefined, undefined],
    ]);
  });
});

describe('tokens and cost', () => {
  it('count once per message id, at the maximum over its lines', () => {
    const { summary } = read(
      assistantLine('m1', [text('a')], { usage: toUsageFields(10, 1, 5, 7) }),
      assistantLine('m2', [text('b')], { usage: toUsageFields(3, 4) }),
      assistantLine('m1', [toolUse('t1', 'Read', {})], { usage: toUsageFields(10, 30, 5, 7), stop_reason: 'tool_use' }),
    );
    expect(summary.tokens).toEqual({ tokens_in: 13, tokens_out: 34, cache_read: 5, cache_write: 7 });
    expect(summary.stopReason).toBe('tool_use');
  });

  it('cover the stream so far in a result', () => {
    const { events } = read(
      assistantLine('m1', [text('a')], { usage: toUsageFields(1, 2) }),
      resultLine({ usage: toUsageFields(100, 200) }),
      assistantLine('m2', [text('b')], { usage: toUsageFields(1, 2) }),
      resultLine(),
    );
    expect(ofType(events, 'result').map(({ tokens }) => tokens.tokens_out)).toEqual([2, 4]);
  });

  it.each(['total_cost_usd', 'cost_usd', 'costUSD'])('are the latest %s, never the sum', (field) => {
    const line = (cost: JsonValue) => ({ type: 'result', subtype: 'success', [field]: cost });
    const { events, summary } = read(line(0.1), line('0.25'), { type: 'result', subtype: 'success' });
    expect(summary.costUsd).toBe(0.25);
    expect(ofType(events, 'result').map(({ costUsd }) => costUsd)).toEqual([0.1, 0.25, null]);
    expect(warnings(events)).toEqual([]);
  });

  it('are the sum of the responses’ costs from their lines if there is no total', () => {
    const { summary, events } = read(
      assistantLine('m1', [text('a')], { usage: toUsageFields(1, 1) }, { costUSD: 0.25 }),
      assistantLine('m1', [text('b')], { usage: toUsageFields(1, 2) }, { costUSD: 0.25 }),
      assistantLine('m2', [text('c')], { usage: toUsageFields(1, 1) }, { costUSD: 0.5 }),
      { type: 'result', subtype: 'success' },
    );
    expect(summary.costUsd).toBe(0.75);
    expect(only(ofType(events, 'result')).costUsd).toBe(0.75);
  });

  it('have no activity later than the last line, which need not be readable', () => {
    let timeMs = 5;
    const reader = createReader(() => timeMs);
    reader.push(toBytes([initLine()]));
    timeMs = 9;
    reader.push('not JSON\n');
    expect(reader.toSummary().lastActivityMs).toBe(9);
  });

  it('have the total by model beside them', () => {
    const model = { inputTokens: 5, outputTokens: 6, cacheReadInputTokens: 7, cacheCreationInputTokens: 8, costUSD: 1 };
    const { summary } = read(
      assistantLine('m1', [text('a')], { usage: toUsageFields(5, 1) }),
      resultLine({ modelUsage: { one: model, two: model } }),
    );
    expect(summary.tokens.tokens_out).toBe(1);
    expect(summary.reportedTokens).toEqual({ tokens_in: 10, tokens_out: 12, cache_read: 14, cache_write: 16 });
  });

  it('are converted if they are written as text', () => {
    const usage = { input_tokens: '10', output_tokens: 'many', cache_read_input_tokens: -1 };
    const { events, summary } = read(assistantLine('m1', [text('a')], { usage }));
    expect(summary.tokens).toEqual({ tokens_in: 10, tokens_out: 0, cache_read: 0, cache_write: 0 });
    expect(warnings(events)).toEqual(['invalid_usage', 'invalid_usage']);
  });
});

describe('tools', () => {
  const results = (events: AgentEvent[]) =>
    ofType(events, 'tool-end').map(({ toolId, toolName, toolOutput, toolError }) => [
      toolId,
      toolName,
      toolOutput,
      toolError !== null,
    ]);

  it('have their results, with name and duration', () => {
    const { events } = read(
      assistantLine('m1', [toolUse('t1', 'Read', { file_path: '/a' })]),
      userLine([toolResult('t1', [text('one'), text('two')])]),
      userLine([toolResult('t1', 'again', { is_error: true })]),
    );
    expect(ofType(events, 'tool-start')).toMatchObject([
      { toolId: 't1', toolName: 'Read', toolKind: 'read', toolInput: '/a', input: { file_path: '/a' } },
    ]);
    expect(results(events)).toEqual([
      ['t1', 'Read', 'one\ntwo', false],
      ['t1', 'Read', 'again', true],
    ]);
    expect(ofType(events, 'tool-end').map(({ durationMs }) => durationMs)).toEqual([1000, 2000]);
  });

  it('come before results that were faster than their line', () => {
    const { events } = read(
      userLine([toolResult('t1', 'early', { is_error: 'true' })]),
      assistantLine('m1', [text('x'), toolUse('t1', 'Bash', {})]),
      resultLine(),
    );
    expect(types(events)).toEqual(['text', 'tool-start', 'tool-end', 'result']);
    expect(results(events)).toEqual([['t1', 'Bash', 'early', true]]);
  });

  it('emit results whose tool use never comes before the turn ends, and at the end', () => {
    const { events } = read(userLine([toolResult('t1', 'a')]), resultLine(), userLine([toolResult('t2', 'b')]));
    expect(types(events)).toEqual(['tool-end', 'result', 'tool-end']);
    expect(results(events)).toEqual([
      ['t1', null, 'a', false],
      ['t2', null, 'b', false],
    ]);
  });

  it('buffer a bounded number of results', () => {
    const orphans = Array.from({ length: 150 }, (_, index) => userLine([toolResult(`t${index}`, 'x')]));
    const reader = createReader(() => 0);
    expect(reader.push(toBytes(orphans))).toHaveLength(50);
    expect(reader.finish()).toHaveLength(100);
  });

  it('are emitted after 64 events or 2 seconds without their tool use, marked', () => {
    let timeMs = 0;
    const reader = createReader(() => timeMs);
    const orphan = toBytes([userLine([toolResult('t1', 'orphan')])]);
    const others = Array.from({ length: 64 }, () => ({ type: 'keep_alive' }));
    expect(reader.push(Buffer.concat([orphan, toBytes(others.slice(1))])).map(({ type }) => type)).not.toContain(
      'tool-end',
    );
    expect(reader.push(toBytes(others.slice(0, 1)))).toMatchObject([
      { type: 'progress' },
      { type: 'tool-end', toolName: null, isUnpaired: true, lineNumber: 1 },
    ]);
    reader.push(orphan);
    timeMs = 1999;
    expect(reader.poll()).toEqual([]);
    timeMs = 2000;
    expect(reader.poll()).toMatchObject([{ type: 'tool-end', toolOutput: 'orphan', isUnpaired: true }]);
  });

  it('include servers’ tools and MCP', () => {
    const { events } = read(
      assistantLine('m1', [
        { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'q' } },
        { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
      ]),
    );
    expect(types(events)).toEqual(['tool-start', 'tool-end']);
    expect(only(ofType(events, 'tool-start'))).toMatchObject({ toolName: 'web_search', input: { query: 'q' } });
  });

  it('keep a large input whole', () => {
    const input = { file_path: '/a', content: 'x'.repeat(600_000) };
    const { events } = read(assistantLine('m1', [toolUse('t1', 'Write', input)]));
    expect(only(ofType(events, 'tool-start')).input).toEqual(input);
  });
});

describe('text in pieces', () => {
  const whole = (events: AgentEvent[]): TextEvent[] => ofType(events, 'text');
  const join = (events: { text: string }[]): string => events.map((event) => event.text).join('');
  const shown = (events: AgentEvent[]): string => join(progress(events, 'text'));
  const eitherWay = (events: AgentEvent[]): string[] => {
    const asPieces = events.filter(
      (event) => (event.type === 'text' && !event.wasStreamed) || (event.type === 'progress' && event.name === 'text'),
    );
    return [join(whole(events)), join(asPieces as TextEvent[])];
  };

  it('is emitted as it grows, and once whole', () => {
    const { events, summary } = read(
      messageStart('m1'),
      textDelta('One '),
      textDelta('two', 1),
      textDelta('and a half. '),
      assistantLine('m1', [text('One and a half. ')], { usage: toUsageFields(10, 1) }),
      assistantLine('m1', [text('two')], { usage: toUsageFields(10, 1) }),
      streamEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: toUsageFields(10, 9) }),
      streamEvent({ type: 'message_stop' }),
      assistantLine('m2', [text('!')], { usage: toUsageFields(1, 1) }),
      resultLine(),
    );
    expect(eitherWay(events)).toEqual(['One and a half. two!', 'One twoand a half. !']);
    expect(whole(events).map(({ wasStreamed }) => wasStreamed)).toEqual([true, true, false]);
    expect(summary.tokens).toMatchObject({ tokens_in: 11, tokens_out: 10 });
    expect(summary.stopReason).toBe('end_turn');
  });

  it('is emitted whole if the stream ended before its line', () => {
    const { events } = read(messageStart('m1'), textDelta('Half a sen'));
    expect(eitherWay(events)).toEqual(['Half a sen', 'Half a sen']);
    expect(only(whole(events))).toMatchObject({ wasStreamed: true });
    const next = read(messageStart('m1'), textDelta('lost'), messageStart('m2'), textDelta('kept'), resultLine());
    expect(eitherWay(next.events)).toEqual(['lostkept', 'lostkept']);
  });

  it('is shown whole if a piece was lost', () => {
    const { events } = read(messageStart('m1'), textDelta('One '), assistantLine('m1', [text('One two')]));
    expect(only(whole(events))).toMatchObject({ text: 'One two', wasStreamed: false });
  });

  it('stays up to a bound until its whole line arrives', () => {
    const piece = 'x'.repeat(100_000);
    const { events } = read(messageStart('m1'), ...Array.from({ length: 20 }, () => textDelta(piece)));
    expect(only(whole(events)).text).toBe(piece.repeat(10));
    expect(shown(events)).toHaveLength(2_000_000);
    const many = read(...Array.from({ length: 1100 }, (_, index) => textDelta('x', index)));
    expect(whole(many.events)).toHaveLength(1000);
  });

  it('is separated by sub-agent', () => {
    const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'sub' } };
    const { events } = read(
      messageStart('m1'),
      streamEvent({ type: 'message_start', message: { id: 'm2' } }, 't1'),
      textDelta('main'),
      streamEvent(delta, 't1'),
      assistantLine('m2', [text('sub')], {}, { parent_tool_use_id: 't1' }),
      assistantLine('m1', [text('main')]),
    );
    expect(whole(events).map((event) => [event.parentToolUseId, event.text, event.wasStreamed])).toEqual([
      ['t1', 'sub', true],
      [undefined, 'main', true],
    ]);
    expect(progress(events, 'text').map(({ parentToolUseId }) => parentToolUseId)).toEqual([undefined, 't1']);
  });
});

describe('prompts', () => {
  const prompts = (...lines: JsonObject[]) => ofType(read(...lines).events, 'prompt').map(({ prompt }) => prompt);
  const question = {
    question: 'Which one?',
    header: 'Choice',
    options: [{ label: 'A', description: 'the first' }, 'B'],
    multiSelect: true,
  };

  it('are questions with their options', () => {
    expect(prompts(assistantLine('m1', [toolUse('t1', 'AskUserQuestion', { questions: [question] })]))).toEqual([
      {
        kind: 'question',
        toolUseId: 't1',
        requestId: null,
        questions: [
          {
            question: 'Which one?',
            header: 'Choice',
            options: [
              { label: 'A', description: 'the first' },
              { label: 'B', description: null },
            ],
            multiSelect: true,
          },
        ],
      },
    ]);
    expect(prompts(assistantLine('m1', [toolUse('t1', 'AskUserQuestion', { question: 'Sure?' })]))).toMatchObject([
      { questions: [{ question: 'Sure?', options: [] }] },
    ]);
  });

  it('are requests for permission and plans to approve, with their context', () => {
    const request = { subtype: 'can_use_tool', tool_name: 'Bash', input: { command: 'rm x' }, tool_use_id: 't1' };
    expect(
      prompts(
        { type: 'control_request', request_id: 'r1', request: { ...request, decision_reason: 'not allowed' } },
        assistantLine('m1', [toolUse('t2', 'ExitPlanMode', { plan: '1. Do it' })]),
      ),
    ).toEqual([
      {
        kind: 'confirmation',
        reason: 'permission_request',
        toolUseId: 't1',
        requestId: 'r1',
        toolName: 'Bash',
        toolInput: { command: 'rm x' },
        message: 'not allowed',
      },
      {
        kind: 'confirmation',
        reason: 'plan_approval',
        toolUseId: 't2',
        requestId: null,
        toolName: 'ExitPlanMode',
        toolInput: { plan: '1. Do it' },
        message: '1. Do it',
      },
    ]);
  });

  it('are denials, of a line or of a result, and come before the result', () => {
    const { events } = read(
      { type: 'system', subtype: 'permission_denied', tool_name: 'Bash', tool_use_id: 't1', message: 'No' },
      resultLine({ permission_denials: [{ tool_name: 'Write', tool_use_id: 't2', tool_input: { a: 1 } }, 'Edit'] }),
    );
    expect(types(events)).toEqual(['prompt', 'progress', 'prompt', 'prompt', 'result']);
    expect(ofType(events, 'prompt').map(({ prompt }) => prompt)).toMatchObject([
      { reason: 'permission_denied', toolName: 'Bash', message: 'No' },
      { reason: 'permission_denied', toolName: 'Write', toolInput: { a: 1 } },
      { reason: 'permission_denied', toolName: null, message: 'Edit' },
    ]);
  });

  it('are raised once per tool use', () => {
    const request = {
      subtype: 'can_use_tool',
      tool_name: 'AskUserQuestion',
      input: { question: 'Q' },
      tool_use_id: 't1',
    };
    expect(
      prompts(
        assistantLine('m1', [toolUse('t1', 'AskUserQuestion', { question: 'Q' })]),
        { type: 'control_request', request_id: 'r1', request },
        resultLine({ permission_denials: [{ tool_name: 'AskUserQuestion', tool_use_id: 't1' }] }),
      ),
    ).toMatchObject([{ kind: 'question' }]);
  });
});

describe('results', () => {
  const results = (...lines: JsonObject[]) =>
    ofType(read(...lines).events, 'result').map(({ success, text, error }) => [success, text ?? error]);

  it('succeed by subtype and is_error', () => {
    expect(
      results(
        resultLine(),
        resultLine({ is_error: true }),
        resultLine({ is_error: 'true' }),
        resultLine({ subtype: 'error_max_turns', result: null, errors: ['too', 'many'] }),
        { type: 'result', result: 'old' },
        { type: 'result', subtype: 'error_during_execution', error: 'broke' },
      ),
    ).toEqual([
      [true, 'Done.'],
      [false, 'Done.'],
      [false, 'Done.'],
      [false, 'too\nmany'],
      [true, 'old'],
      [false, 'broke'],
    ]);
  });

  it('put the code of a failure into the summary', () => {
    expect(read(resultLine({ subtype: 'error_max_turns' })).summary.lastResult).toEqual({
      success: false,
      error: 'error_max_turns',
    });
    expect(read(resultLine({ is_error: true, api_error_status: 401 })).summary.lastResult?.error).toBe('API error 401');
  });
});

describe('odd lines', () => {
  it('stay whole if their type is unknown', () => {
    const original = { type: 'novel', subtype: 'x', payload: { deep: [1] } };
    const { events } = read(original, { type: 'rate_limit_event' }, { type: 'queue-operation' });
    expect(events).toMatchObject([
      { type: 'unknown', name: 'novel/x', original },
      { type: 'progress', name: 'rate_limit_event' },
      { type: 'progress', name: 'queue-operation' },
    ]);
  });

  it('without a type, or with one that is not a text, cause a warning', () => {
    const { events } = read({ a: 1 }, { type: 7 });
    expect(warnings(events)).toEqual(['missing_type', 'missing_type']);
    expect(types(events)).toEqual(['warning', 'warning']);
  });

  it('without a message, or with a bare text, are read up to the fault', () => {
    const { events } = read(
      { type: 'assistant' },
      { type: 'user', content: 'beside' },
      { type: 'user', message: 'bare' },
      { type: 'assistant', message: [1] },
      userLine(5),
    );
    expect(progress(events, 'user').map((event) => event.text)).toEqual(['beside', 'bare', '5']);
    expect(warnings(events)).toEqual(['missing_field', 'invalid_content']);
  });

  it('are messages, tool uses and tool results in a flat stream', () => {
    const { events } = read(
      { type: 'message', role: 'user', content: 'hi' },
      { type: 'message', role: 'assistant', content: 'ho' },
      { type: 'tool_use', tool_name: 'Read', tool_id: 't1', parameters: { file_path: '/a' } },
      { type: 'tool_result', tool_id: 't1', status: 'error', output: 'gone' },
    );
    expect(types(events)).toEqual(['progress', 'text', 'tool-start', 'tool-end']);
    expect(events[3]).toMatchObject({
      toolName: 'Read',
      toolOutput: 'gone',
      toolError: 'gone',
    } satisfies Partial<ToolEndEvent>);
  });

  it('have their own time, or the time of their arrival', () => {
    const { events } = read(
      { type: 'a', timestamp: '2026-11-05T14:30:15Z' },
      { type: 'b' },
      { type: 'c', timestamp: 'yesterday' },
    );
    expect(ofType(events, 'unknown').map(({ timestampMs }) => timestampMs)).toEqual([
      Date.UTC(2026, 10, 5, 14, 30, 15),
      2000,
      3000,
    ]);
    expect(warnings(events)).toEqual(['invalid_timestamp']);
  });

  it('are each emitted if they begin a run, even without its details', () => {
    const bare = { type: 'system', subtype: 'init' };
    const { events, summary } = read(bare, bare, { ...bare, tools: 'Read' }, { ...bare, tools: [['x'], 'Bash', null] });
    const nothing = { type: 'session-start', sessionId: '', model: null, cwd: null, version: null };
    expect(events).toMatchObject([
      { ...nothing, tools: [] },
      { ...nothing, tools: [] },
      { ...nothing, tools: ['Read'] },
      { ...nothing, tools: ['Bash'] },
    ]);
    expect(summary).toMatchObject({ agentSessionId: null, model: null });
  });

  it('may lack the details of a turn that they end', () => {
    const { events, summary } = read({ type: 'result' });
    expect(only(ofType(events, 'result'))).toMatchObject({
      success: true,
      text: null,
      error: null,
      durationMs: null,
      costUsd: null,
      costDeltaUsd: null,
    });
    expect(summary.lastResult).toEqual({ success: true, error: null });
  });

  it('are emitted with the details of a turn that they end', () => {
    const { events } = read(
      resultLine({ duration_ms: 1200, errors: ['not asked for'] }),
      resultLine({ result: null, errors: ['one', 5, 'two'] }),
      resultLine({ result: null, errors: [5] }),
      resultLine({ result: null, errors: 'one' }),
    );
    expect(ofType(events, 'result').map((event) => event.text)).toEqual(['Done.', 'one\ntwo', null, null]);
    expect(ofType(events, 'result')[0]).toMatchObject({ durationMs: 1200 });
  });

  it('have only the code of the API if they call a failure a success', () => {
    const errorOf = (fields: JsonObject) => read(resultLine({ is_error: true, ...fields })).summary.lastResult?.error;
    expect(errorOf({})).toBeNull();
    expect(errorOf({ api_error_status: '529' })).toBeNull();
    expect(errorOf({ api_error_status: 529 })).toBe('API error 529');
    expect(errorOf({ api_error_status: 529, subtype: 'error_max_turns' })).toBe('error_max_turns');
    expect(errorOf({ api_error_status: 529, subtype: null })).toBe('API error 529');
  });

  it('are summarised, cut to 200 characters, if they are bookkeeping', () => {
    const status = (fields: JsonObject): JsonObject => ({ type: 'system', subtype: 'status', ...fields });
    const { events } = read(
      status({ tool_name: 'tool', hook_name: 'hook' }),
      status({ status: 'compacting', message: 'a message' }),
      status({ message: 5 }),
      status({ summary: 'x'.repeat(201) }),
      status({ subtype: '', content: 'without a subtype' }),
    );
    expect(ofType(events, 'progress').map(({ name, text: told, isError }) => [name, told, isError])).toEqual([
      ['system/status', 'hook', false],
      ['system/status', 'a message', false],
      ['system/status', '', false],
      ['system/status', 'x'.repeat(200), false],
      ['system', 'without a subtype', false],
    ]);
  });

  it('emit nothing if they are streamed pieces other than text', () => {
    const delta = (fields: JsonObject) => streamEvent({ type: 'content_block_delta', ...fields });
    const { events } = read(
      messageStart('m1'),
      delta({ index: 0, delta: { type: 'thinking_delta', thinking: 'a', text: 'b' } }),
      delta({ index: 0, delta: { type: 'text_delta' } }),
      delta({ index: 0, delta: { type: 'text_delta', text: '' } }),
      delta({ index: 0 }),
      streamEvent({ type: 'content_block_start', delta: { type: 'text_delta', text: 'c' } }),
      { type: 'stream_event' },
    );
    expect(events).toEqual([]);
  });

  it('belong to the first text if they are pieces without an index, and late ones to none', () => {
    const piece = streamEvent({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'a' } });
    const { events } = read(messageStart('m1'), piece, assistantLine('m1', [text('a')]), textDelta('a'));
    expect(events).toMatchObject([
      { type: 'progress', name: 'text', text: 'a' },
      { type: 'text', text: 'a', wasStreamed: true },
    ]);
    expect(events).toHaveLength(2);
  });

  it('are emitted whole if they are pieces of another response', () => {
    const { events } = read(messageStart('m1'), textDelta('a'), assistantLine('m2', [text('a')]));
    expect(events).toMatchObject([
      { type: 'progress', name: 'text' },
      { type: 'text', wasStreamed: false },
      { type: 'text', wasStreamed: true },
    ]);
  });

  it('have events for blocks with separate content only', () => {
    const { events } = read(
      assistantLine('m1', [
        text(''),
        { type: 'thinking', thinking: '' },
        { type: 'thinking', thinking: 'hm' },
        { type: 'image' },
        { type: 'novel' },
        { type: 'novel' },
      ]),
    );
    expect(events).toMatchObject([
      { type: 'warning', warning: { message: 'Unknown type of content block: novel' } },
      { type: 'progress', name: 'thinking', text: 'hm' },
    ]);
    expect(events).toHaveLength(2);
  });

  it('are not paired for tools without ids', () => {
    const { events } = read(
      userLine([{ type: 'tool_result', content: 'orphan' }]),
      assistantLine('m1', [{ type: 'tool_use', name: 'Bash', input: {} }]),
      userLine([{ type: 'tool_result', content: 'other' }]),
    );
    expect(warnings(events)).toEqual(['missing_field', 'missing_field', 'missing_field']);
    expect(events.filter(({ type }) => type !== 'warning')).toMatchObject([
      { type: 'tool-end', toolOutput: 'orphan', toolId: '', toolName: null, isUnpaired: true, durationMs: null },
      { type: 'tool-start', toolId: '', toolName: 'Bash' },
      { type: 'tool-end', toolOutput: 'other', toolId: '', toolName: null, isUnpaired: true, durationMs: null },
    ]);
  });

  it('are paired as results, and have no duration if call and result are on the same line', () => {
    const { events } = read(
      assistantLine('m1', [
        { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
        { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
      ]),
      userLine([toolResult('s1', 'later')]),
    );
    expect(ofType(events, 'tool-end')).toMatchObject([
      { durationMs: null, toolName: 'web_search' },
      { durationMs: 1000, toolName: 'web_search' },
    ]);
  });

  it('emit the same warning once each', () => {
    const { events, summary } = read(
      { type: 'assistant', message: { content: [5, 6], id: 'm' } },
      { type: 'x', timestamp: 'never' },
      { type: 'x', timestamp: 'never' },
    );
    const timestamps = ofType(events, 'warning').filter(({ warning }) => warning.code === 'invalid_timestamp');
    expect(timestamps.map(({ warning: { lineNumber } }) => lineNumber)).toEqual([2, 3]);
    expect(summary.warningCount).toBe(warnings(events).length);
  });

  it('never quote the stream in a warning', () => {
    const { events } = read({ type: 'user', message: { content: { secret: 1 } }, uuid: ['SECRET'] });
    expect(warnings(events).length).toBeGreaterThan(0);
    expect(JSON.stringify(ofType(events, 'warning')).toLowerCase()).not.toContain('secret');
  });
});
