import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../lines/json.ts';
import { expectDirectAgreement } from '../testing/direct-scan.ts';
import { createDirectUsageScanner } from './direct-usage-scanner.ts';

const expectAgreement = (text: string) => expectDirectAgreement('claude-code', text);

const toText = (lines: readonly (JsonObject | string)[]): string =>
  lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');

const ENVELOPE = { sessionId: 's', cwd: '/home/ada/app', version: '2.1.50', gitBranch: 'main' };
const messageId = (index: number) => `msg_of_the_direct_scan_${index}`;
const callId = (index: number) => `toolu_of_the_direct_scan_${index}`;

const rarely = <T>(value: fc.Arbitrary<T>, other: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 30, arbitrary: value }, { weight: 1, arbitrary: other });
const tokens = fc.nat(400);
const counts = fc.record(
  {
    input_tokens: tokens,
    output_tokens: rarely<JsonValue>(tokens, fc.constantFrom('7', -1, 1e300, null)),
    cache_read_input_tokens: tokens,
    cache_creation_input_tokens: tokens,
  },
  { requiredKeys: ['input_tokens', 'output_tokens'] },
);
const extras = fc.record(
  {
    cache_creation: fc.record({ ephemeral_5m_input_tokens: tokens, ephemeral_1h_input_tokens: tokens }),
    server_tool_use: fc.record({ web_search_requests: fc.nat(3), web_fetch_requests: fc.nat(3) }),
    output_tokens_details: fc.record({ thinking_tokens: tokens }),
    service_tier: rarely(
      fc.constantFrom<JsonValue>('standard', 'priority', null),
      fc.constantFrom<JsonValue>('a b', 7),
    ),
    speed: fc.constantFrom('standard', 'fast'),
    inference_geo: fc.constantFrom('us', 'not_available'),
  },
  { requiredKeys: [] },
);
const usage = fc
  .tuple(counts, extras, fc.constantFrom('none', 'none', 'none', 'empty', 'same', 'advisor', 'other', 'unknown'))
  .map(([top, more, iterations]): JsonObject => {
    const own = { ...top, cache_read_input_tokens: 1, cache_creation_input_tokens: 2 } as JsonObject;
    switch (iterations) {
      case 'empty':
        return { ...top, ...more, iterations: [] } as JsonObject;
      case 'same':
        return { ...own, iterations: [{ type: 'message', ...own }] };
      case 'advisor':
        return {
          ...own,
          iterations: [
            { type: 'message', ...own },
            { type: 'advisor_message', ...own, model: 'x' },
          ],
        };
      case 'other':
        return { ...own, iterations: [{ type: 'message', ...own, output_tokens: 9 }] };
      case 'unknown':
        return { ...own, new_kind_tokens: 5 };
      default:
        return { ...top, ...more } as JsonObject;
    }
  });

const block: fc.Arbitrary<JsonValue> = rarely<JsonValue>(
  fc.oneof(
    fc.string({ maxLength: 60, unit: 'grapheme' }).map((text) => ({ type: 'text', text })),
    fc.constantFrom('', 'a thought').map((thinking) => ({ type: 'thinking', thinking, signature: 'x'.repeat(400) })),
    fc
      .tuple(fc.nat(3), fc.string({ maxLength: 30, unit: 'binary' }))
      .map(([id, path]) => ({ type: 'tool_use', id: callId(id), name: 'Read', input: { path } })),
    fc.nat(3).map((id) => ({ type: 'tool_use', id: callId(id + 10), name: 'WebSearch', input: { query: 'heron' } })),
  ),
  fc.constantFrom<JsonValue>(
    'bare',
    { type: 'text' },
    { type: 'redacted_thinking', data: 'x'.repeat(500) },
    { type: 'server_tool_use', id: callId(9), name: 'web_search', input: { a: 1 } },
    { type: 'tool_use', id: 'short', name: 'WebSearch', input: {} },
  ),
);

const message = fc.record(
  {
    id: rarely<JsonValue>(fc.nat(4).map(messageId), fc.constantFrom<JsonValue>('msg_1', null, 7)),
    model: rarely<JsonValue>(
      fc.constantFrom<JsonValue>('claude-x', 'claude-y', null),
      fc.constantFrom<JsonValue>('<synthetic>', 5),
    ),
    role: fc.constant('assistant'),
    content: rarely<JsonValue>(fc.array(block, { maxLength: 3 }), fc.constant('text')),
    stop_reason: fc.constantFrom(null, null, 'end_turn'),
    usage: rarely<JsonValue>(usage, fc.constant(null)),
    pausedResponses: rarely<JsonValue>(fc.constant(null), fc.constant([{ usage: { output_tokens: 3 } }])),
  },
  { requiredKeys: ['id', 'role', 'content', 'usage'] },
);

const timestamp = rarely<JsonValue>(
  fc.nat(3600).map((second) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString()),
  fc.constantFrom<JsonValue>('2026-01-01T00:00:01+01:00', 1_770_000_000, 'soon', null),
);
const answer = fc
  .tuple(
    message,
    fc.record(
      {
        timestamp,
        isSidechain: fc.boolean(),
        agentId: fc.constantFrom<JsonValue>('a1', null),
        forkedFrom: fc.constant({ sessionId: 'other' }),
        costUSD: fc.constantFrom<JsonValue>(0.25, '0.5', -1),
        gitBranch: fc.constantFrom<JsonValue>('main', 'other', 7),
      },
      { requiredKeys: ['timestamp'] },
    ),
    fc.nat(9),
  )
  .map(
    ([content, fields, uuid]): JsonObject => ({
      ...ENVELOPE,
      type: 'assistant',
      ...fields,
      uuid: `a${uuid}`,
      message: content,
    }),
  );
const progress = fc.tuple(message, timestamp, fc.constantFrom('_of_the_sub-agent', '')).map(
  ([{ id, ...content }, time, ending]): JsonObject => ({
    ...ENVELOPE,
    type: 'progress',
    timestamp: time,
    data: {
      type: 'agent_progress',
      agentId: 'a1',
      message: { type: 'assistant', timestamp: time, uuid: 'p', message: { ...content, id: `${id}${ending}` } },
    },
  }),
);
const result = fc.tuple(fc.nat(3), fc.nat(4), fc.boolean(), timestamp).map(
  ([call, searchCount, isSearch, time]): JsonObject => ({
    ...ENVELOPE,
    type: 'user',
    timestamp: time,
    message: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: callId(call + (isSearch ? 10 : 0)), content: 'x' }],
    },
    toolUseResult: isSearch ? { searchCount } : { usage: { input_tokens: 5 } },
  }),
);
const line = fc.oneof(
  { weight: 8, arbitrary: answer as fc.Arbitrary<JsonObject | string> },
  { weight: 2, arbitrary: progress },
  { weight: 3, arbitrary: result },
  {
    weight: 2,
    arbitrary: fc.constantFrom<JsonObject | string>(
      { type: 'summary', summary: 'About herons' },
      { type: 'file-history-snapshot', snapshot: { usage: 1 } },
      { ...ENVELOPE, type: 'user', message: { role: 'user', content: 'What is "usage"?' } },
      { ...ENVELOPE, type: 'system', subtype: 'compact_boundary', content: 'Compacted' },
      { type: 'progress', data: { type: 'hook_progress' }, timestamp: '2025-12-01T00:00:00.000Z' },
      '',
      '{"type":"assistant","message":{"usage":{"output_tok',
      '{"type":"x","message":{"usage":null}}{"type":"summary","summary":"glued"}',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<JsonObject | string>(
      { type: 'new-kind', usage: { output_tokens: 5 } },
      { type: 'result', session_id: 's', modelUsage: { 'claude-x': { inputTokens: 1, outputTokens: 1 } } },
      { ...ENVELOPE, type: 'cost-state', modelUsage: { 'claude-x': { inputTokens: 1, outputTokens: 1 } } },
      { type: 'system', subtype: 'init', session_id: 's', usage: {} },
      `\uFEFF${JSON.stringify({ ...ENVELOPE, type: 'user', message: { content: 'marked' } })}`,
      '{"type":"user","cwd":"/a\\u0000b\\ud800","timestamp":"2026-01-01T00:00:00.000Z"}',
      '7',
    ),
  },
);

describe('createDirectUsageScanner', () => {
  it('finds what the reader finds, in every transcript that it does not refuse', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 25 }), (lines) => {
        expectAgreement(toText(lines));
      }),
    );
  });

  it('accepts ordinary transcripts', () => {
    const ordinary: JsonObject[] = [
      { type: 'summary', summary: 'About herons' },
      { ...ENVELOPE, type: 'user', timestamp: '2026-01-01T00:00:00.000Z', message: { role: 'user', content: 'Hello' } },
      ...[1, 7, 300].map(
        (output_tokens, index): JsonObject => ({
          ...ENVELOPE,
          type: 'assistant',
          timestamp: `2026-01-01T00:00:0${index}.000Z`,
          message: {
            id: messageId(1),
            model: 'claude-x',
            content: [{ type: 'text', text: 'x'.repeat(99) }],
            stop_reason: null,
            usage: { input_tokens: 5, output_tokens },
          },
        }),
      ),
    ];
    expect(expectAgreement(toText(ordinary))).toBe(true);
    expect(expectAgreement(toText(ordinary.slice(0, 3)))).toBe(true);
    expect(expectAgreement(toText(ordinary.slice(0, 2)))).toBe(true);
    // A last line that is still being written.
    expect(expectAgreement(toText(ordinary).slice(0, -40))).toBe(true);
  });

  it('leaves responses whose lines are far apart to the reader', () => {
    const toAnswer = (id: number): JsonObject => ({
      ...{ ...ENVELOPE, type: 'assistant', timestamp: '2026-01-01T00:00:00.000Z' },
      message: { id: messageId(id), model: 'claude-x', content: [], usage: { input_tokens: 1, output_tokens: id } },
    });
    const toLines = (count: number) => toText([...Array.from({ length: count }, (_, id) => toAnswer(id)), toAnswer(0)]);
    expect(expectAgreement(toLines(1999))).toBe(true);
    expect(expectAgreement(toLines(2001))).toBe(false);
  });

  it('has none for formats that only their readers know', () => {
    expect(createDirectUsageScanner('amp-thread')).toBeUndefined();
  });
});
