import { describe, expect, it } from 'vitest';
import { readTelemetry } from './read-telemetry.ts';
import type { TelemetrySignal } from './telemetry.ts';

type Values = Record<string, string | number | boolean>;

const toSignal = (
  name: string,
  attributes: Values,
  changes: Partial<Omit<TelemetrySignal, 'resource'>> & { resource?: Values } = {},
): TelemetrySignal => {
  const { resource = {}, ...rest } = changes;
  return {
    kind: 'event',
    timeMs: Date.UTC(2026, 10, 29, 12),
    names: [name],
    attributes: new Map(Object.entries(attributes)),
    ...rest,
    resource: new Map(Object.entries(resource)),
  };
};

const CLAUDE = {
  'session.id': 'session-1',
  'user.email': 'maya@acme.example',
  'event.sequence': 6,
  model: 'claude-opus-5-5',
  input_tokens: 1010,
  output_tokens: 10_026,
  cache_read_tokens: 3022,
  cache_creation_tokens: 506,
  cost_usd: 0.208_303_4,
  request_id: 'req_1',
  query_source: 'compact',
  prompt: 'never read',
};

describe('readTelemetry', () => {
  it('reads a request of Claude Code, with the person and the machine, and no text', () => {
    const signal = toSignal('claude_code.api_request', CLAUDE, { resource: { 'host.name': 'maya-laptop' } });
    expect(readTelemetry(signal)).toEqual({
      agent: 'claude-code',
      kind: 'request',
      sessionId: 'session-1',
      requestId: 'req_1',
      model: 'claude-opus-5-5',
      purpose: 'compact',
      timestampMs: Date.UTC(2026, 10, 29, 12),
      inputTokens: 1010,
      outputTokens: 10_026,
      cacheReadTokens: 3022,
      cacheWriteTokens: 506,
      costUsd: 0.208_303_4,
      person: 'maya@acme.example',
      machine: 'maya-laptop',
      identity: 'req_1',
    });
  });

  it('tells requests without an id apart by session, time, figures and sequence, the same in each export', () => {
    const { request_id: _id, ...withoutId } = CLAUDE;
    const read = (changes: Values) => readTelemetry(toSignal('claude_code.api_request', { ...withoutId, ...changes }));
    expect(read({})?.identity).toBe(read({ prompt: 'another' })?.identity);
    const identities = [{}, { 'event.sequence': 7 }, { input_tokens: 1 }, { 'session.id': 'session-2' }].map(
      (changes) => read(changes)?.identity,
    );
    expect(new Set(identities).size).toBe(4);
  });

  it('reads points of Claude Code’s metrics, increments by their time, and totals by their start', () => {
    const read = (type: string, value: number, timeMs: number, isCumulative: boolean) =>
      readTelemetry(
        toSignal(
          'claude_code.token.usage',
          { 'session.id': 'session-1', model: 'claude-opus-5-5', type },
          { kind: 'sum', timeMs, point: { value, startMs: 1000, isCumulative } },
        ),
      );
    expect(read('cacheCreation', 506, 2000, false)).toMatchObject({
      kind: 'sum',
      inputTokens: 0,
      cacheWriteTokens: 506,
      costUsd: null,
    });
    expect(read('input', 1, 2000, false)?.identity).not.toBe(read('input', 1, 3000, false)?.identity);
    expect(read('input', 1, 2000, true)?.identity).toBe(read('input', 5, 3000, true)?.identity);
    expect(read('input', 1, 2000, true)?.identity).not.toBe(read('output', 1, 2000, true)?.identity);
    expect(read('of another kind', 1, 2000, false)).toBeUndefined();
    expect(read('input', -1, 2000, false)).toBeUndefined();
  });

  it('reads the cost of Claude Code’s metric', () => {
    const point = { value: 0.5, startMs: undefined, isCumulative: false };
    const cost = toSignal('claude_code.cost.usage', { 'session.id': 'session-1' }, { kind: 'sum', point });
    expect(readTelemetry(cost)).toMatchObject({ costUsd: 0.5, inputTokens: 0, model: null });
  });

  it('reads a completed response of Codex, whose counts are texts, include each other, and have their own time', () => {
    const attributes = {
      'event.kind': 'response.completed',
      'event.timestamp': '2026-11-29T15:56:27.611Z',
      'conversation.id': 'thread-1',
      model: 'gpt-6.2-sol',
      input_token_count: '4032',
      output_token_count: '10026',
      cached_token_count: '3022',
      cache_write_token_count: '10',
      reasoning_token_count: '110',
    };
    expect(readTelemetry(toSignal('codex.sse_event', attributes, { timeMs: undefined }))).toMatchObject({
      agent: 'codex',
      sessionId: 'thread-1',
      requestId: null,
      timestampMs: Date.parse('2026-11-29T15:56:27.611Z'),
      inputTokens: 1000,
      outputTokens: 10_026,
      cacheReadTokens: 3022,
      cacheWriteTokens: 10,
      costUsd: null,
    });
    const delta = { ...attributes, 'event.kind': 'response.output_text.delta' };
    expect(readTelemetry(toSignal('codex.sse_event', delta))).toBeUndefined();
  });

  it('reads a response of Gemini CLI, thoughts as output', () => {
    const attributes = {
      'session.id': 'session-1',
      'event.timestamp': '2026-11-29T15:56:32.659Z',
      model: 'gemini-3.1-pro-preview',
      input_token_count: 4032,
      output_token_count: 9916,
      cached_content_token_count: 3022,
      thoughts_token_count: 110,
      tool_token_count: 5,
    };
    expect(readTelemetry(toSignal('gemini_cli.api_response', attributes))).toMatchObject({
      agent: 'gemini',
      inputTokens: 1015,
      outputTokens: 10_026,
      cacheReadTokens: 3022,
      cacheWriteTokens: 0,
    });
  });

  it('reads a chat span of Copilot, not the spans of its agents and tools, nor another program’s', () => {
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.conversation.id': 'session-1',
      'gen_ai.response.id': 'msg_1',
      'gen_ai.response.model': 'claude-sonnet-4.6',
      'gen_ai.usage.input_tokens': 4538,
      'gen_ai.usage.output_tokens': 10_026,
      'gen_ai.usage.cache_read.input_tokens': 3022,
      'gen_ai.usage.cache_write.input_tokens': 506,
      'github.copilot.cost': 1,
    };
    const read = (changes: Values, service = 'github-copilot') =>
      readTelemetry(
        toSignal('chat', { ...attributes, ...changes }, { kind: 'span', resource: { 'service.name': service } }),
      );
    expect(read({})).toMatchObject({
      agent: 'copilot',
      requestId: 'msg_1',
      inputTokens: 1010,
      cacheWriteTokens: 506,
      costUsd: null,
    });
    expect(read({ 'gen_ai.operation.name': 'invoke_agent' })).toBeUndefined();
    expect(read({}, 'another')).toBeUndefined();
  });

  it('leaves out what has no session, no time, no tokens or impossible ones', () => {
    const read = (changes: Values, timeMs: number | undefined = 1) =>
      readTelemetry(toSignal('claude_code.api_request', { ...CLAUDE, ...changes }, { timeMs }));
    const none = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_creation_tokens: 0 };
    expect(read({ 'session.id': '' })).toBeUndefined();
    expect(read({ 'session.id': 'a\nb' })).toBeUndefined();
    expect(read({}, -1)).toBeUndefined();
    expect(read(none)).toBeUndefined();
    expect(read({ input_tokens: -5, cost_usd: 'free' })).toMatchObject({ inputTokens: 0, costUsd: null });
  });

  it('keeps names storable', () => {
    const changes = { ...CLAUDE, model: `a\0b\uD800${'x'.repeat(1000)}` };
    const { model = '' } = readTelemetry(toSignal('claude_code.api_request', changes)) ?? {};
    expect(model).toMatch(/^ab\uFFFDx+$/);
    expect(model).toHaveLength(512);
  });
});
