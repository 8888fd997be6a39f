import { describe, expect, it, vi } from 'vitest';
import { createClaudeCodeReader } from '../agents/claude-code/reader.ts';
import type { JsonObject } from '../lines/json.ts';
import { parseTranscript } from '../parse/parse-transcript.ts';
import type { ApiResponse, ParsedContentBlock, ToolCall, TranscriptMessage } from '../records/rows.ts';
import { assistantLine, only, progressLine, toJsonl, toUsageFields, userLine } from '../testing/transcript-lines.ts';
import { MessageAssembler } from './message-assembler.ts';
import { flatDefaultPrices, type PriceTable } from './price-table.ts';
import { TranscriptTotals } from './transcript-totals.ts';
import { createUlidSequence } from './ulid-sequence.ts';

interface Options {
  usageFrom?: 'first' | 'final';
  maxOpenMessages?: number;
  maxOpenToolCalls?: number;
  prices?: PriceTable;
}

function assemble(lines: readonly JsonObject[], options: Options = {}) {
  const messages: TranscriptMessage[] = [];
  const blocks: ParsedContentBlock[] = [];
  const responses: ApiResponse[] = [];
  const calls: ToolCall[] = [];
  const invalidFields: string[] = [];
  const onLate = vi.fn();
  const totals = new TranscriptTotals();
  const assembler = new MessageAssembler(
    {
      sessionId: 's',
      nextId: createUlidSequence('s'),
      prices: flatDefaultPrices,
      usageFrom: 'final',
      maxOpenMessages: 100,
      maxOpenToolCalls: 100,
      maxMessagesInCheckpoint: 100,
      onLate,
      onKeyForgotten: () => undefined,
      onImplausible: () => undefined,
      ...options,
    },
    totals,
    {
      addMessage: (message) => messages.push(message),
      addBlock: (block) => blocks.push(block),
      addApiResponse: (response) => responses.push(response),
      addToolCall: (call) => calls.push(call),
    },
  );
  const reader = createClaudeCodeReader({
    maxInlineContentBytes: 1000,
    report: (code, _severity, error) => code === 'invalid_usage' && invalidFields.push(error),
  });
  for (const [index, line] of lines.entries()) {
    const place = { lineNumber: index + 1, byteOffset: index * 100, byteLength: 99 };
    for (const record of reader.read(line, { ...place, arrivalMs: undefined }).records) {
      if (record.kind === 'message') assembler.addMessage(record, place);
    }
  }
  const early = { responses: [...responses], calls: [...calls] };
  while (assembler.closeOldest());
  const stats = totals.toStats(null, 0);
  return { messages, blocks, responses, calls, early, invalidFields, onLate, stats };
}

const text = (value: string): JsonObject => ({ type: 'text', text: value });

describe('MessageAssembler', () => {
  it('joins the lines of one response at the place of the first, however far apart', () => {
    const { messages, blocks } = assemble([
      assistantLine('m1', [text('a')], {}, { uuid: 'u1', requestId: 'r1' }),
      assistantLine('m2', [text('b')]),
      userLine('c'),
      assistantLine('m1', [{ type: 'tool_use', name: 'Bash' }, text('d')], {}, { uuid: 'u4' }),
      assistantLine('m1', [{ type: 'thinking', thinking: 'e' }]),
    ]);
    expect(messages.map((message) => [message.ordinal, message.provider_message_id, message.line_number])).toEqual([
      [0, 'm1', 1],
      [1, 'm2', 2],
      [2, null, 3],
    ]);
    expect(messages[0]).toMatchObject({
      uuid: 'u1',
      request_id: 'r1',
      byte_offset: 0,
      byte_length: 99,
      has_text: true,
      has_tool_use: true,
      has_thinking: true,
      has_tool_result: false,
      metadata: { line_count: 3 },
    });
    const blocksOfFirst = blocks.filter((block) => block.message_id === messages[0]?.id);
    expect(blocksOfFirst.map((block) => [block.block_order, block.block_type, block.line_number])).toEqual([
      [0, 'text', 1],
      [1, 'tool_use', 4],
      [2, 'text', 4],
      [3, 'thinking', 5],
    ]);
    expect(blocksOfFirst.map((block) => block.byte_offset)).toEqual([0, 300, 300, 400]);
  });

  it('keeps lines without an id apart', () => {
    const { messages } = assemble([assistantLine(null, 'a'), assistantLine('', 'b'), assistantLine(null, 'a')]);
    expect(messages.map((message) => message.provider_message_id)).toEqual([null, null, null]);
  });

  it('joins no line that is not an assistant line', () => {
    const line = { type: 'user', message: { id: 'm1', content: 'a', usage: toUsageFields(5, 5) } };
    const { messages } = assemble([line, line, assistantLine('m1', 'b')]);
    expect(messages.map((message) => message.message_type)).toEqual(['user', 'user', 'assistant']);
    expect(messages[0]).toMatchObject({ tokens_in: null, tokens_out: null, cost_usd: null, cache_read: null });
  });

  it('fills gaps from later lines, and takes the last stop reason', () => {
    const { messages } = assemble([
      assistantLine('m1', 'a', { stop_reason: null }),
      assistantLine(
        'm1',
        'b',
        { model: 'x', stop_reason: 'tool_use' },
        { requestId: 'r', timestamp: '2025-06-01T00:00:00Z' },
      ),
      assistantLine('m1', 'c', { model: 'y', stop_reason: 'end_turn' }, { requestId: 'r', isApiErrorMessage: true }),
      assistantLine('m1', 'd', { stop_reason: null }),
    ]);
    expect(only(messages)).toMatchObject({
      model: 'x',
      request_id: 'r',
      timestamp: '2025-06-01T00:00:00.000Z',
      stop_reason: 'end_turn',
      metadata: { isApiErrorMessage: true, line_count: 4 },
    });
  });
});

describe('usage of a message', () => {
  const lines = [
    assistantLine('m1', 'a', { usage: toUsageFields(10, 1, 100, 7) }),
    assistantLine('m1', 'b', { usage: null }),
    assistantLine('m1', 'c', { usage: toUsageFields(10, 90, 100, 0) }),
    assistantLine('m1', 'd', { usage: toUsageFields(10, 40, 100, 7) }),
  ];

  it('is the final figure, which is the maximum of each field, never the sum', () => {
    const { messages, stats } = assemble(lines);
    const expected = { tokens_in: 10, tokens_out: 90, cache_read: 100, cache_write: 7 };
    expect(only(messages)).toMatchObject({ ...expected, cost_usd: 0.00143625 });
    expect(stats).toMatchObject({ ...expected, cost_estimate_usd: 0.00143625 });
  });

  it('comes from the first line that has one, on request', () => {
    const { messages, stats } = assemble([assistantLine('m1', 'x'), ...lines], { usageFrom: 'first' });
    expect(only(messages)).toMatchObject({ tokens_in: 10, tokens_out: 1, cache_write: 7 });
    expect(stats.tokens_out).toBe(1);
  });

  it('is null if no line has any, and zero if a line says so', () => {
    for (const usage of [null, [], 'x', 5, true]) {
      expect(only(assemble([assistantLine('m1', 'a', { usage })]).messages)).toMatchObject({
        tokens_in: null,
        cost_usd: null,
      });
    }
    expect(only(assemble([assistantLine('m1', 'a', { usage: {} })]).messages)).toMatchObject({
      tokens_in: 0,
      tokens_out: 0,
      cache_read: 0,
      cache_write: 0,
      cost_usd: 0,
    });
  });

  it('drops an implausible figure, and reports it', () => {
    const { messages, invalidFields } = assemble([
      assistantLine('m1', 'a', { usage: { input_tokens: -5, output_tokens: 1.5, cache_read_input_tokens: 'many' } }),
    ]);
    expect(only(messages)).toMatchObject({ tokens_in: 0, tokens_out: 0, cache_read: 0, cache_write: 0 });
    expect(invalidFields).toEqual(
      ['input_tokens', 'output_tokens', 'cache_read_input_tokens'].map(
        (field) => `Usage field ${field} is no plausible figure`,
      ),
    );
  });

  it('keeps the details, except those that the final figure contradicts', () => {
    const priority = { ...toUsageFields(1, 1), service_tier: 'priority' };
    const standard = { ...toUsageFields(1, 9), service_tier: 'standard' };
    const first = assistantLine('m1', 'a', { usage: priority });
    expect(only(assemble([first]).messages).metadata).toMatchObject({ usage: { service_tier: 'priority' } });
    const { metadata } = only(assemble([first, assistantLine('m1', 'b', { usage: standard })]).messages);
    expect(metadata).toEqual({ line_count: 2 });
  });

  it('is priced by the model, even if a later line names it', () => {
    const prices: PriceTable = {
      version: 'test',
      price: ({ model, timestamp }) =>
        model === 'x' && timestamp !== null
          ? { costUsd: 2, costs: null, basis: 'reported' }
          : { costUsd: null, costs: null, basis: 'unpriced' },
    };
    const usage = toUsageFields(1, 20);
    const timestamp = '2025-06-01T00:00:00Z';
    const first = assistantLine('m1', 'a', { usage });
    const later = assistantLine('m1', 'b', { model: 'x' }, { timestamp });
    for (const usageFrom of ['first', 'final'] as const) {
      expect(assemble([first], { prices, usageFrom })).toMatchObject({
        messages: [{ cost_usd: null }],
        stats: { cost_estimate_usd: null },
      });
      expect(assemble([first, later], { prices, usageFrom })).toMatchObject({
        messages: [{ cost_usd: 2 }],
        stats: { cost_estimate_usd: 2 },
      });
    }
  });

  it('is marked unfinalised while it is plainly a placeholder', () => {
    const marked = (usage: JsonObject, stop_reason: string | null = null) =>
      only(assemble([assistantLine('m1', 'a', { usage, stop_reason })]).messages).metadata.usage_unfinalised;
    expect(marked(toUsageFields(10, 1))).toBe(true);
    expect(marked(toUsageFields(10, 8))).toBe(true);
    expect(marked(toUsageFields(10, 9))).toBeUndefined();
    expect(marked(toUsageFields(10, 1), 'end_turn')).toBeUndefined();
    expect(only(assemble([assistantLine('m1', '', { usage: toUsageFields(10, 0) })]).messages).metadata).toEqual({});
    const placeholder = assistantLine('m1', 'a', { usage: toUsageFields(10, 1) });
    for (const final of [{ usage: toUsageFields(10, 50) }, { stop_reason: 'end_turn' }]) {
      const { metadata } = only(assemble([placeholder, assistantLine('m1', 'b', final)]).messages);
      expect(metadata).toEqual({ line_count: 2 });
    }
  });
});

describe('an output count too small for the content', () => {
  const marked = (...lines: Parameters<typeof assistantLine>[]) =>
    only(assemble(lines.map((line) => assistantLine(...line))).messages).metadata.usage_unfinalised;
  const usage = toUsageFields(10, 25);

  it('is treated as a placeholder too', () => {
    expect(marked(['m1', 'x'.repeat(150), { usage }])).toBeUndefined();
    expect(marked(['m1', 'x'.repeat(151), { usage }])).toBe(true);
    expect(marked(['m1', 'x'.repeat(100), { usage }], ['m1', 'y'.repeat(51), { usage }])).toBe(true);
    expect(marked(['m1', 'x'.repeat(151), { usage, stop_reason: 'end_turn' }])).toBeUndefined();
  });

  it('is not derived from copies of a line', () => {
    const line: Parameters<typeof assistantLine> = ['m1', 'x'.repeat(150), { usage }];
    expect(marked(line, line, line)).toBeUndefined();
  });
});

describe('the window of open messages', () => {
  it('closes the message that began first, and counts no usage of its later lines', () => {
    const usage = toUsageFields(1, 20);
    const { messages, responses, calls, onLate } = assemble(
      ['m1', 'm2', 'm1', 'm3', 'm1', 'm2'].map((id) =>
        assistantLine(id, [{ type: 'tool_use', id: `${id}-use`, name: 'Read' }], { usage }),
      ),
      { maxOpenMessages: 2 },
    );
    expect(messages.map(({ provider_message_id: id, ordinal }) => [ordinal, id])).toEqual([
      [0, 'm1'],
      [1, 'm2'],
      [2, 'm3'],
      [3, 'm1'],
      [4, 'm2'],
    ]);
    expect(messages.map(({ tokens_out }) => tokens_out)).toEqual([20, 20, 20, null, null]);
    expect(messages[0]?.metadata.line_count).toBe(2);
    expect(responses.map(({ provider_message_id }) => provider_message_id)).toEqual(['m1', 'm2', 'm3']);
    expect(calls).toHaveLength(5);
    expect(onLate).toHaveBeenCalledTimes(2);
  });

  it('emits messages in order, also when progress lines come before the message', async () => {
    const { messages } = await parseTranscript(
      's',
      toJsonl(
        progressLine('m2', 'x', { usage: toUsageFields(1, 9) }),
        assistantLine('m1', 'a'),
        assistantLine('m2', 'b'),
      ),
    );
    expect(messages.map(({ ordinal }) => ordinal)).toEqual([0, 1]);
  });

  it('tells responses with the same short id apart by their requests, also after the first has closed', () => {
    const line = (requestId: string | null) => assistantLine('m1', 'a', { usage: toUsageFields(1, 20) }, { requestId });
    const others = ['m2', 'm3'].map((id) => assistantLine(id, 'x'));
    const { responses, onLate } = assemble([line('r1'), ...others, line('r2'), line('r1'), line('r2'), line(null)], {
      maxOpenMessages: 2,
    });
    expect(responses.map(({ response_key }) => response_key)).toEqual(['m1/r1', 'm1/r2']);
    expect(onLate).toHaveBeenCalledTimes(2);
  });

  it('gives a call whose message has closed the details of the message, and reports a late search', () => {
    const search = { type: 'tool_use', id: 'toolu_search_1', name: 'WebSearch' };
    const result = {
      ...userLine([{ type: 'tool_result', tool_use_id: 'toolu_search_1', content: 'x' }]),
      toolUseResult: { searchCount: 3 },
    };
    const use = assistantLine('m1', [search], { model: 'claude-x', usage: toUsageFields(1, 20) });
    const { calls, responses, onLate } = assemble([use, assistantLine('m2', 'a'), assistantLine('m3', 'b'), result], {
      maxOpenMessages: 2,
    });
    expect(calls).toMatchObject([{ model: 'claude-x', response_key: expect.stringContaining('m1'), is_error: false }]);
    expect(responses).toMatchObject([{ web_search_requests: 0 }]);
    expect(onLate).toHaveBeenCalledTimes(1);
  });
});

describe('ids', () => {
  it('ascend over messages and blocks, even if time runs backwards or is missing', () => {
    const at = (timestamp?: string) => userLine([text('a'), text('b')], timestamp === undefined ? {} : { timestamp });
    const { messages, blocks } = assemble([
      at(),
      at('2025-06-02T00:00:00Z'),
      at('2025-06-01T00:00:00Z'),
      at('never'),
      at('2025-06-03T00:00:00Z'),
    ]);
    for (const ids of [messages.map(({ id }) => id), blocks.map(({ id }) => id)]) {
      expect(ids).toEqual([...new Set(ids)].sort());
    }
    expect(messages[1]?.id.slice(0, 10)).toBe(createUlidSequence('')(Date.UTC(2025, 5, 2)).slice(0, 10));
  });
});
