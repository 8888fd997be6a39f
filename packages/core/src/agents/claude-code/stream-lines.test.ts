import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../lines/json.ts';
import { parserFor } from '../../live/parser-for.ts';
import { claudeStream, toBytes } from '../../live/testing/stream-lines.ts';
import { parseTranscript } from '../../parse/parse-transcript.ts';
import { isStreamLine, toTranscriptLine } from './stream-lines.ts';

const toText = (lines: readonly JsonObject[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const createState = () => ({ isStream: false, openResponses: new Map<string, string>() });
const translate = (line: JsonObject): JsonObject => toTranscriptLine({ session_id: 's', ...line }, createState()).value;

describe('isStreamLine', () => {
  it.each([
    [true, { type: 'user', session_id: 's' }],
    [false, { type: 'user', session_id: 's', sessionId: 's' }],
    [false, { type: 'user', sessionId: 's' }],
    [false, { type: 'user', session_id: 5 }],
  ])('%s for %j', (expected, line) => {
    expect(isStreamLine(line, createState())).toBe(expected);
  });

  it('counts lines without an id, once the transcript is certainly a stream', () => {
    const state = createState();
    expect(isStreamLine({ type: 'user' }, state)).toBe(false);
    expect(isStreamLine({ type: 'user', session_id: 's' }, state)).toBe(true);
    expect(isStreamLine({ type: 'user' }, state)).toBe(true);
    expect(isStreamLine({ type: 'user', sessionId: 's' }, state)).toBe(false);
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
    const { tokens_in, tokens_out, cache_read, cache_write } = stats;
    expect({ tokens_in, tokens_out, cache_read, cache_write }).toEqual(tokens);
    expect(metadata.reportedTotals).toMatchObject({ source: 'result', cost_usd: 0.05 });
    expect(tokens_out).toBeGreaterThan(0);
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

  it('gives lines the arrival time of their last byte, unless they have one', async () => {
    const text = toText([
      { type: 'user', session_id: 's', message: { content: 'a' } },
      // Not all lines name the session.
      { type: 'user', message: { content: 'b' } },
      { type: 'user', session_id: 's', message: { content: 'c' }, timestamp: '2026-01-01T00:00:00Z' },
    ]);
    const firstEnd = text.indexOf('\n');
    const arrivals = [
      { endOffset: firstEnd, timeMs: 1000 },
      { endOffset: text.length, timeMs: 2000 },
    ];
    const { messages } = await parseTranscript('s', text, { arrivals, format: 'claude-stream-json' });
    expect(messages.map(({ timestamp }) => timestamp)).toEqual([
      '1970-01-01T00:00:01.000Z',
      '1970-01-01T00:00:02.000Z',
      '2026-01-01T00:00:00.000Z',
    ]);
    expect(translate({ type: 'user' })).not.toHaveProperty('timestamp');
  });

  it('marks the messages of sub-agents', () => {
    expect(translate({ type: 'assistant', parent_tool_use_id: 'toolu_1' }).isSidechain).toBe(true);
    expect(translate({ type: 'assistant', parent_tool_use_id: null })).not.toHaveProperty('isSidechain');
  });

  it.each([
    ['init', true],
    ['hook_started', true],
    ['status', true],
    ['compact_boundary', false],
    ['api_retry', false],
  ])('belongs to system lines, where %s is bookkeeping: %s', (subtype, expected) => {
    const line = { type: 'system', subtype, session_id: 's' };
    expect(toTranscriptLine(line, createState()).isBookkeeping).toBe(expected);
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

  it('is null for what the stream leaves out', () => {
    expect(translate({ type: 'system', subtype: 'compact_boundary', compact_metadata: {} }).compactMetadata).toEqual({
      trigger: null,
      preTokens: null,
      postTokens: null,
    });
    expect(translate({ type: 'system', subtype: 'api_retry' })).toMatchObject({
      retryInMs: null,
      retryAttempt: null,
      maxRetries: null,
    });
    const bare = translate({ type: 'assistant', isSynthetic: 'yes', error: null });
    for (const field of [
      'version',
      'toolUseResult',
      'isMeta',
      'isApiErrorMessage',
      'compactMetadata',
      'retryInMs',
      'isSidechain',
    ]) {
      expect(bare).not.toHaveProperty(field);
    }
    expect(translate({ type: 'user', error: 'x' })).not.toHaveProperty('isApiErrorMessage');
    expect(toTranscriptLine({ type: 'user' }, createState())).toEqual({
      value: { type: 'user', sessionId: null },
      isBookkeeping: false,
    });
    expect(translate({ type: 'system', subtype: 'init', claude_code_version: '2.1.0' }).version).toBe('2.1.0');
  });

  describe('events of the API', () => {
    const event = (fields: JsonObject, parent: string | null = null): JsonObject => ({
      type: 'stream_event',
      session_id: 's',
      uuid: 'u1',
      parent_tool_use_id: parent,
      event: fields,
    });
    const start = (id: string | null, parent: string | null = null) =>
      event({ type: 'message_start', message: { id, model: 'm', usage: { input_tokens: 3 } } }, parent);
    const delta = (parent: string | null = null) =>
      event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } }, parent);

    it('are lines of the response, without content and without another line’s uuid', () => {
      const state = createState();
      expect(toTranscriptLine(start('a'), state)).toEqual({
        isBookkeeping: false,
        value: {
          type: 'assistant',
          session_id: 's',
          sessionId: 's',
          parent_tool_use_id: null,
          message: { id: 'a', role: 'assistant', content: [], model: 'm', usage: { input_tokens: 3 } },
        },
      });
      expect(toTranscriptLine(delta(), state).value.message).toEqual({
        id: 'a',
        role: 'assistant',
        content: [],
        stop_reason: 'end_turn',
        usage: { output_tokens: 9 },
      });
    });

    it('belong to the response of their sub-agent', () => {
      const state = createState();
      toTranscriptLine(start('main'), state);
      toTranscriptLine(start('a', 't1'), state);
      toTranscriptLine(start('b', 't2'), state);
      const idOf = (line: JsonObject) => toTranscriptLine(line, state).value.message;
      expect([delta('t1'), delta(), delta('t2')].map(idOf)).toMatchObject([{ id: 'a' }, { id: 'main' }, { id: 'b' }]);
      expect(toTranscriptLine(delta('t3'), state).isBookkeeping).toBe(true);
    });

    it('belong to no response if the last one that began has no id', () => {
      const state = createState();
      toTranscriptLine(start('a'), state);
      expect(toTranscriptLine(start(null), state).isBookkeeping).toBe(true);
      expect(toTranscriptLine(delta(), state).isBookkeeping).toBe(true);
    });

    it('are bookkeeping if they have no usage', () => {
      const state = createState();
      toTranscriptLine(start('a'), state);
      for (const fields of [{ type: 'content_block_delta' }, { type: 'message_stop' }, {}]) {
        expect(toTranscriptLine(event(fields), state)).toMatchObject({
          isBookkeeping: true,
          value: { type: 'stream_event' },
        });
      }
      expect(toTranscriptLine({ type: 'stream_event', event: 5 }, state).isBookkeeping).toBe(true);
    });

    it('have no model, reason or usage if they name none', () => {
      const state = createState();
      const started = toTranscriptLine(event({ type: 'message_start', message: { id: 'a' } }), state);
      expect(started.value.message).toMatchObject({ model: null, usage: null });
      expect(toTranscriptLine(event({ type: 'message_delta' }), state).value.message).toMatchObject({
        stop_reason: null,
        usage: null,
      });
    });

    it('stay for up to a thousand sub-agents that began earlier', () => {
      const state = createState();
      for (let index = 0; index < 1000; index++) toTranscriptLine(start(`id-${index}`, `t${index}`), state);
      // It started again, so now it is the newest.
      toTranscriptLine(start('again', 't0'), state);
      expect(toTranscriptLine(delta('t1'), state).value.message).toMatchObject({ id: 'id-1' });
      toTranscriptLine(start('new', 't1000'), state);
      expect(toTranscriptLine(delta('t1'), state).isBookkeeping).toBe(true);
      expect(toTranscriptLine(delta('t0'), state).value.message).toMatchObject({ id: 'again' });
    });
  });

  it('are bounded, however many sub-agents stream concurrently', () => {
    const state = createState();
    const start = (parent: string): JsonObject => ({
      type: 'stream_event',
      session_id: 's',
      parent_tool_use_id: parent,
      event: { type: 'message_start', message: { id: `id-${parent}` } },
    });
    for (let index = 0; index < 1500; index++) toTranscriptLine(start(String(index)), state);
    const end = (parent: string) => ({ ...start(parent), event: { type: 'message_delta', usage: {} } });
    expect(toTranscriptLine(end('0'), state)).toMatchObject({ isBookkeeping: true });
    expect(toTranscriptLine(end('1499'), state).value).toMatchObject({ message: { id: 'id-1499' } });
  });
});
