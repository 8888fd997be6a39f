import { describe, expect, it } from 'vitest';
import { parserFor } from '../../live/agents/parser-for.ts';
import { claudeStream, toBytes } from '../../live/testing/stream-lines.ts';
import { parseTranscript } from '../../parse-transcript.ts';
import type { JsonObject } from '../../rows.ts';
import { createStreamLineReader, isStreamLine } from './stream-lines.ts';

const toText = (lines: readonly JsonObject[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const translate = (line: JsonObject): JsonObject =>
  createStreamLineReader().toTranscriptLine({ session_id: 's', ...line }, 0).value;

describe('isStreamLine', () => {
  it.each([
    [true, { type: 'user', session_id: 's' }],
    [false, { type: 'user', session_id: 's', sessionId: 's' }],
    [false, { type: 'user', sessionId: 's' }],
    [false, { type: 'user', session_id: 5 }],
  ])('%s for %j', (expected, line) => {
    expect(isStreamLine(line)).toBe(expected);
  });
});

describe('a recorded stream as a transcript', () => {
  it('has the figures that it had live', async () => {
    const result = { type: 'result', subtype: 'success', total_cost_usd: 0.05 };
    const stream = [...claudeStream, result].map((line): JsonObject => ({ session_id: 's', ...line }));
    const parser = parserFor('claude', { now: () => 0 });
    parser?.push(toBytes(stream));
    const { tokens } = parser?.toSummary() ?? {};
    const { stats, metadata } = await parseTranscript('s', toText(stream));
    const { tokens_in: input, tokens_out: output, cache_read: cacheRead, cache_write: cacheWrite } = stats;
    expect({ input, output, cacheRead, cacheWrite }).toEqual(tokens);
    expect(metadata.reportedTotals).toMatchObject({ source: 'result', cost_usd: 0.05 });
    expect(output).toBeGreaterThan(0);
  });

  it('takes the final usage from the events of the API, and the uuid from the whole line', async () => {
    const usage = (output: number): JsonObject => ({ input_tokens: 3, output_tokens: output });
    const base = { session_id: 's', parent_tool_use_id: null };
    const event = (fields: JsonObject, uuid: string): JsonObject => ({
      ...base,
      type: 'stream_event',
      uuid,
      event: fields,
    });
    const message = { id: 'm1', model: 'claude-opus-4-8', content: [{ type: 'text', text: 'hi' }], usage: usage(1) };
    const { messages, stats, errors } = await parseTranscript(
      's',
      toText([
        event({ type: 'message_start', message: { id: 'm1', model: 'claude-opus-4-8', usage: usage(1) } }, 'u1'),
        event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } }, 'u2'),
        { ...base, type: 'assistant', uuid: 'u3', message },
        event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: usage(250) }, 'u4'),
      ]),
    );
    expect(errors).toEqual([]);
    expect(messages).toMatchObject([{ uuid: 'u3', stop_reason: 'end_turn', tokens_out: 250, has_text: true }]);
    expect(stats).toMatchObject({ total_messages: 1, tokens_out: 250, unfinalised_count: 0 });
  });

  it('gives lines the time at which their last byte came, unless they have one', () => {
    const reader = createStreamLineReader([
      { endOffset: 100, timeMs: 1000 },
      { endOffset: 250, timeMs: 2000 },
    ]);
    const timeOf = (endOffset: number, fields: JsonObject = {}) =>
      reader.toTranscriptLine({ type: 'user', session_id: 's', ...fields }, endOffset).value.timestamp;
    const [first, second] = ['1970-01-01T00:00:01.000Z', '1970-01-01T00:00:02.000Z'];
    expect([timeOf(50), timeOf(100), timeOf(101), timeOf(250), timeOf(999)]).toEqual([
      first,
      first,
      second,
      second,
      second,
    ]);
    expect(timeOf(1000, { timestamp: '2026-01-01T00:00:00Z' })).toBe('2026-01-01T00:00:00Z');
    expect(translate({ type: 'user' })).not.toHaveProperty('timestamp');
  });

  it('marks what sub-agents say', () => {
    expect(translate({ type: 'assistant', parent_tool_use_id: 'toolu_1' }).isSidechain).toBe(true);
    expect(translate({ type: 'assistant', parent_tool_use_id: null })).not.toHaveProperty('isSidechain');
  });

  it.each([
    ['init', true],
    ['hook_started', true],
    ['status', true],
    ['compact_boundary', false],
    ['api_retry', false],
  ])('of system lines, %s is bookkeeping: %s', (subtype, expected) => {
    const line = { type: 'system', subtype, session_id: 's' };
    expect(createStreamLineReader().toTranscriptLine(line, 0).isBookkeeping).toBe(expected);
  });

  it('names fields as session files do', () => {
    const compact = { trigger: 'auto', pre_tokens: 5 };
    expect(translate({ type: 'system', subtype: 'compact_boundary', compact_metadata: compact })).toMatchObject({
      sessionId: 's',
      compactMetadata: { trigger: 'auto', preTokens: 5 },
    });
    const retry = { attempt: 1, max_retries: 10, retry_delay_ms: 500 };
    expect(translate({ type: 'system', subtype: 'api_retry', ...retry })).toMatchObject({
      retryAttempt: 1,
      maxRetries: 10,
      retryInMs: 500,
    });
    expect(translate({ type: 'user', isSynthetic: true, tool_use_result: { status: 'x' } })).toMatchObject({
      isMeta: true,
      toolUseResult: { status: 'x' },
    });
    expect(translate({ type: 'assistant', error: 'billing_error' })).toMatchObject({ isApiErrorMessage: true });
  });

  it('is bounded, however many sub-agents stream at once', () => {
    const reader = createStreamLineReader();
    const start = (parent: string): JsonObject => ({
      type: 'stream_event',
      session_id: 's',
      parent_tool_use_id: parent,
      event: { type: 'message_start', message: { id: `id-${parent}` } },
    });
    for (let index = 0; index < 1500; index++) reader.toTranscriptLine(start(String(index)), 0);
    const end = (parent: string) => ({ ...start(parent), event: { type: 'message_delta', usage: {} } });
    expect(reader.toTranscriptLine(end('0'), 0)).toMatchObject({ isBookkeeping: true });
    expect(reader.toTranscriptLine(end('1499'), 0).value).toMatchObject({ message: { id: 'id-1499' } });
  });
});
