import { Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { type ParseOptions, parseTranscript } from '../index.ts';
import type { JsonObject } from '../lines/json.ts';
import { toInputs } from '../testing/chunked-inputs.ts';
import { expectSame } from '../testing/expect-same.ts';
import { ODD_MAX_LINE_BYTES, oddTranscript } from '../testing/odd-transcript.ts';
import { assistantLine, only, toJsonl, toUsageFields, userLine } from '../testing/transcript-lines.ts';

const parse = (lines: readonly (JsonObject | string)[], options?: ParseOptions) =>
  parseTranscript('session-1', toJsonl(...lines), options);

const parseText = (text: string | Uint8Array, options?: ParseOptions) => parseTranscript('session-1', text, options);

const zeroStats = {
  total_messages: 0,
  user_messages: 0,
  assistant_messages: 0,
  tool_use_count: 0,
  thinking_blocks: 0,
  subagent_count: 0,
  tokens_in: 0,
  tokens_out: 0,
  cache_read: 0,
  cache_write: 0,
  cost_estimate_usd: 0,
  api_response_count: 0,
  output_only_count: 0,
  unfinalised_count: 0,
  unpriced_count: 0,
  web_search_count: 0,
  prompt_count: 0,
  turn_count: 0,
  duration_ms: 0,
  initial_prompt: null,
};

describe('a parse result', () => {
  it('has rows with every field, for a message and its block', async () => {
    const line = assistantLine(
      'msg_1',
      [{ type: 'tool_use', id: 't1', name: 'Task', input: { prompt: 'p' } }],
      { model: 'claude-x', usage: toUsageFields(1_000_000, 100_000, 2_000_000, 10_000), stop_reason: 'tool_use' },
      {
        uuid: 'u2',
        parentUuid: 'u1',
        requestId: 'req_1',
        timestamp: '2025-06-01T00:00:00.000Z',
        isSidechain: true,
        agentId: 'a1',
      },
    );
    const { messages, contentBlocks, stats } = await parse(['', line]);
    const byteLength = JSON.stringify(line).length;
    expect(only(messages)).toEqual({
      id: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
      session_id: 'session-1',
      line_number: 2,
      ordinal: 0,
      message_type: 'assistant',
      role: 'assistant',
      model: 'claude-x',
      tokens_in: 1_000_000,
      tokens_out: 100_000,
      cache_read: 2_000_000,
      cache_write: 10_000,
      cost_usd: 5.1375,
      timestamp: '2025-06-01T00:00:00.000Z',
      has_text: false,
      has_thinking: false,
      has_tool_use: true,
      has_tool_result: false,
      metadata: {},
      provider_message_id: 'msg_1',
      request_id: 'req_1',
      uuid: 'u2',
      parent_uuid: 'u1',
      is_sidechain: true,
      agent_id: 'a1',
      stop_reason: 'tool_use',
      byte_offset: 1,
      byte_length: byteLength,
    });
    expect(only(contentBlocks)).toEqual({
      id: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
      message_id: only(messages).id,
      session_id: 'session-1',
      block_order: 0,
      block_type: 'tool_use',
      content_text: null,
      thinking_text: null,
      tool_name: 'Task',
      tool_kind: 'agent',
      tool_use_id: 't1',
      tool_input: { prompt: 'p' },
      tool_result_id: null,
      is_error: null,
      result_text: null,
      metadata: {},
      line_number: 2,
      byte_offset: 1,
      byte_length: byteLength,
    });
    expect(stats).toEqual({
      ...zeroStats,
      total_messages: 1,
      assistant_messages: 1,
      tool_use_count: 1,
      subagent_count: 1,
      tokens_in: 1_000_000,
      tokens_out: 100_000,
      cache_read: 2_000_000,
      cache_write: 10_000,
      cost_estimate_usd: 5.1375,
      api_response_count: 1,
    });
  });

  it('is the same for the same bytes, and has different ids in another session', async () => {
    const first = await parseTranscript('a', oddTranscript);
    expectSame(await parseTranscript('a', oddTranscript), first);
    const other = await parseTranscript('b', oddTranscript);
    const ids = new Set(first.messages.map(({ id }) => id));
    expect(other.messages.some(({ id }) => ids.has(id))).toBe(false);
  });

  it('does not depend on how the input arrives', async () => {
    const options = { maxLineBytes: ODD_MAX_LINE_BYTES, maxInlineContentBytes: 50 };
    const expected = await parseText(oddTranscript, options);
    expect(expected.messages).toHaveLength(10);
    for (const [name, open] of toInputs(oddTranscript)) {
      expectSame({ name, ...(await parseTranscript('session-1', open(), options)) }, { name, ...expected });
    }
  });

  it('is the same for text as for its bytes', async () => {
    const text = Buffer.from(oddTranscript).toString('utf8');
    const expected = await parseText(Buffer.from(text));
    expectSame(await parseText(text), expected);
    expectSame(await parseTranscript('session-1', Readable.from([text])), expected);
    expectSame(await parseTranscript('session-1', Readable.from(text.split(''))), expected);
  });

  it('reports every fault of a transcript, with its place', async () => {
    const { errors, warnings, notices, metadata } = await parseText(oddTranscript, {
      maxLineBytes: ODD_MAX_LINE_BYTES,
    });
    const lineAt = (byteOffset: number) =>
      Buffer.from(oddTranscript.subarray(0, byteOffset)).toString('latin1').split('\n').length;
    for (const issue of [...errors, ...warnings, ...notices]) expect(lineAt(issue.byteOffset)).toBe(issue.lineNumber);
    expect(errors.map(({ lineNumber, code, error, count }) => [lineNumber, code, error, count])).toEqual([
      [13, 'missing_type', 'Missing type field', 1],
      [14, 'invalid_json', 'Invalid JSON', 1],
      [15, 'line_too_long', 'Line exceeds max size', 1],
      [19, 'truncated_last_line', 'Invalid JSON', 1],
    ]);
    expect(notices.map(({ lineNumber, code, error, count }) => [lineNumber, code, error, count])).toEqual([
      [12, 'unknown_line_type', 'Unknown line type: never-seen-before', 1],
    ]);
    expect(warnings.map(({ lineNumber, code, count }) => [lineNumber, code, count])).toEqual([
      [1, 'byte_order_mark', 1],
      [9, 'replaced_characters', 2],
      [10, 'glued_objects', 2],
      [16, 'byte_order_mark', 1],
      [17, 'invalid_timestamp', 1],
      [17, 'invalid_usage', 1],
      [17, 'invalid_usage', 1],
      [18, 'invalid_utf8', 3],
      [19, 'invalid_utf8', 1],
    ]);
    expect(metadata).toMatchObject({
      sessionId: 's1',
      cwd: '/srv/app',
      version: '2.1.0',
      firstTimestamp: '2025-06-01T00:00:01.000Z',
      lastTimestamp: '2025-06-01T00:00:04.000Z',
      title: 'Größe der Datei',
      lineCount: 19,
      byteLength: oddTranscript.length,
      lineTypes: {
        summary: 1,
        user: 6,
        assistant: 3,
        system: 1,
        progress: 1,
        'never-seen-before': 1,
        'queue-operation': 1,
      },
    });
  });
});

describe('rule 1: lines', () => {
  it('are split at line feeds, CRLF tolerated, empty ones skipped but counted', async () => {
    const { messages, metadata, errors, warnings } = await parseText(
      `\r\n\n  \t\n${JSON.stringify(userLine('a'))}\r\n\n${JSON.stringify(userLine('b'))}\n`,
    );
    expect(messages.map(({ line_number }) => line_number)).toEqual([4, 6]);
    expect(metadata.lineCount).toBe(6);
    expect([errors, warnings]).toEqual([[], []]);
  });

  it('are not split at other line ends', async () => {
    const text = 'one\u2028two\u2029three\u0085four';
    const { contentBlocks } = await parse([userLine(text)]);
    expect(only(contentBlocks).content_text).toBe(text);
    const { messages, warnings } = await parseText('{"type":"user","message":"a"}\r{"type":"user","message":"b"}\n');
    expect(messages).toHaveLength(2);
    expect(warnings.map(({ code }) => code)).toEqual(['glued_objects']);
  });
});

describe('rule 2: line types', () => {
  it('make messages of user, assistant, system and summary, and of nothing else', async () => {
    const metadataTypes = ['progress', 'file-history-snapshot', 'queue-operation', 'ai-title', 'attachment', 'mode'];
    const { messages, errors, warnings, metadata } = await parse([
      { type: 'summary', summary: 's' },
      ...metadataTypes.map((type) => ({ type })),
      userLine('u'),
      assistantLine('m', 'a'),
      { type: 'system', content: 'y' },
    ]);
    expect(messages.map(({ message_type, line_number, role }) => [message_type, line_number, role])).toEqual([
      ['summary', 1, null],
      ['user', 8, 'user'],
      ['assistant', 9, 'assistant'],
      ['system', 10, 'system'],
    ]);
    expect([errors, warnings]).toEqual([[], []]);
    expect(metadata.lineTypes).toMatchObject({ progress: 1, user: 1, attachment: 1 });
  });

  it('report what they cannot read, and continue', async () => {
    const onLineError = vi.fn();
    const { messages, errors } = await parse(
      [
        '{"type":"user"',
        '{"message":{}}',
        '{"type":5}',
        '{"type":""}',
        '[{"type":"user"}]',
        'null',
        '{"type":"zebra"}',
        userLine('a'),
        '{type: "user"}',
      ],
      { onLineError },
    );
    expect(messages.map(({ line_number }) => line_number)).toEqual([8]);
    expect(errors.map(({ lineNumber, error }) => [lineNumber, error])).toEqual([
      [1, 'Invalid JSON'],
      [2, 'Missing type field'],
      [3, 'Missing type field'],
      [4, 'Missing type field'],
      [5, 'Missing type field'],
      [6, 'Missing type field'],
      [9, 'Invalid JSON'],
    ]);
    expect(onLineError.mock.calls).toEqual(errors.map(({ lineNumber, error }) => [lineNumber, error]));
  });

  it('call onLineError for errors only', async () => {
    const onLineError = vi.fn();
    const { warnings } = await parseText('\uFEFF{"type":"user","timestamp":"never"}', { onLineError });
    expect(warnings.length).toBeGreaterThan(2);
    expect(onLineError).not.toHaveBeenCalled();
  });

  it('name an unknown type, cut to 64 characters', async () => {
    const { notices } = await parse([{ type: `${'z'.repeat(63)}🎉` }, { type: '__proto__' }, { type: 'constructor' }]);
    expect(notices.map(({ error }) => error)).toEqual([
      `Unknown line type: ${'z'.repeat(63)}`,
      'Unknown line type: __proto__',
      'Unknown line type: constructor',
    ]);
  });

  it('use the session facts on lines of unknown type', async () => {
    const { metadata } = await parse([{ type: 'zebra', cwd: '/srv', timestamp: '2025-06-01T00:00:00Z' }]);
    expect(metadata).toMatchObject({ cwd: '/srv', firstTimestamp: '2025-06-01T00:00:00.000Z' });
  });

  it('use the session facts on metadata lines', async () => {
    const { metadata } = await parse([
      { type: 'ai-title', aiTitle: 'Generated' },
      { type: 'custom-title', customTitle: 'Mine' },
      { type: 'permission-mode', permissionMode: 'plan' },
      { type: 'pr-link', prNumber: 7, prUrl: 'https://example.org/7', prRepository: 'o/r' },
    ]);
    expect(metadata).toMatchObject({
      title: 'Mine',
      titleSource: 'custom',
      permissionMode: 'plan',
      pullRequests: [{ number: 7, url: 'https://example.org/7', repository: 'o/r' }],
    });
  });

  it('read both of two concatenated objects, and count the line once', async () => {
    const glued = JSON.stringify(userLine('a')) + JSON.stringify(assistantLine('m', 'b'));
    const { messages, contentBlocks, errors, warnings } = await parse(['', glued]);
    expect(messages.map(({ line_number, ordinal, byte_length }) => [line_number, ordinal, byte_length])).toEqual([
      [2, 0, glued.length],
      [2, 1, glued.length],
    ]);
    expect(contentBlocks.map(({ content_text }) => content_text)).toEqual(['a', 'b']);
    expect(errors).toEqual([]);
    expect(warnings).toEqual([
      { lineNumber: 2, byteOffset: 1, code: 'glued_objects', error: 'Several JSON objects on one line', count: 2 },
    ]);
  });

  it('read the objects before a truncated one, and report the line', async () => {
    const { messages, errors } = await parse([`${JSON.stringify(userLine('a'))}{"type":"us`, userLine('b')]);
    expect(messages).toHaveLength(2);
    expect(errors.map(({ lineNumber, code }) => [lineNumber, code])).toEqual([[1, 'invalid_json']]);
  });

  it('count repeated faults of one line as one issue', async () => {
    const { errors, warnings, notices } = await parse([
      '{"a":1}{"a":2}{"type":"x"}{"type":"x"}{"type":"y"}',
      userLine([1, 2, 3, { type: 'text', text: 'a' }]),
    ]);
    expect(errors.map(({ error, count }) => [error, count])).toEqual([['Missing type field', 2]]);
    expect(notices.map(({ error, count }) => [error, count])).toEqual([
      ['Unknown line type: x', 2],
      ['Unknown line type: y', 1],
    ]);
    expect(warnings.map(({ code, count }) => [code, count])).toEqual([
      ['glued_objects', 5],
      ['invalid_content', 3],
    ]);
  });
});

describe('rule 3: messages', () => {
  it('are one for all assistant lines of an id, with consecutive ordinals', async () => {
    const { messages, stats } = await parse([
      userLine('a'),
      assistantLine('m1', 'b'),
      { type: 'progress' },
      userLine([{ type: 'tool_result', tool_use_id: 't', content: 'x' }]),
      'broken',
      assistantLine('m1', 'c'),
      assistantLine(null, 'd'),
      assistantLine('m1', 'e'),
    ]);
    expect(messages.map(({ ordinal, line_number }) => [ordinal, line_number])).toEqual([
      [0, 1],
      [1, 2],
      [2, 4],
      [3, 7],
    ]);
    expect(stats).toMatchObject({ total_messages: 4, user_messages: 2, assistant_messages: 2 });
  });
});

describe('rule 4: blocks', () => {
  it('are one text block for plain content of any message type', async () => {
    const { contentBlocks, messages } = await parse([
      userLine('u'),
      assistantLine('m', 'a'),
      { type: 'system', content: 'y', level: 'info' },
      { type: 'summary', summary: 's' },
      { type: 'summary', message: { content: 't' } },
      { type: 'user', message: 'bare' },
    ]);
    expect(contentBlocks.map(({ block_type, content_text }) => [block_type, content_text])).toEqual(
      ['u', 'a', 'y', 's', 't', 'bare'].map((text) => ['text', text]),
    );
    expect(messages.every(({ has_text }) => has_text)).toBe(true);
  });

  it('are none, and all flags false, for no content', async () => {
    const { messages, contentBlocks, errors, warnings } = await parse([
      userLine(null),
      assistantLine('m', null),
      { type: 'user' },
      { type: 'user', message: null },
      { type: 'assistant', message: {} },
      { type: 'system' },
      { type: 'summary' },
    ]);
    expect(messages).toHaveLength(7);
    for (const { has_text, has_thinking, has_tool_use, has_tool_result } of messages) {
      expect([has_text, has_thinking, has_tool_use, has_tool_result]).toEqual([false, false, false, false]);
    }
    expect([contentBlocks, errors]).toEqual([[], []]);
    expect(warnings.map(({ lineNumber, error }) => [lineNumber, error])).toEqual([
      [1, 'Missing field message.content'],
      [2, 'Missing field message.content'],
      [3, 'Missing field message'],
      [4, 'Missing field message'],
      [5, 'Missing field message.content'],
      [7, 'Missing field summary'],
    ]);
  });

  it('set the flag of each kind', async () => {
    const types = ['text', 'thinking', 'redacted_thinking', 'tool_use', 'tool_result', 'image', 'server_tool_use'];
    const { messages } = await parse(types.map((type) => userLine([{ type }])));
    expect(
      messages.map(({ has_text, has_thinking, has_tool_use, has_tool_result }) =>
        [has_text, has_thinking, has_tool_use, has_tool_result].map(Number).join(''),
      ),
    ).toEqual(['1000', '0100', '0100', '0010', '0001', '0000', '0000']);
  });

  it('keep what marks a line in the metadata of its message', async () => {
    const { messages } = await parse([
      userLine('a', { isMeta: true, forkedFrom: { sessionId: 's0', messageUuid: 'u0' } }),
      userLine('b', { isCompactSummary: true, toolUseResult: { agentId: 'a', stdout: 'long', searchCount: 1 } }),
      assistantLine('m', 'c', {}, { isApiErrorMessage: true, apiErrorStatus: 529 }),
    ]);
    expect(messages.map(({ metadata }) => metadata)).toEqual([
      { isMeta: true, forkedFrom: { sessionId: 's0', messageUuid: 'u0' } },
      { isCompactSummary: true, toolUseResult: { agentId: 'a', searchCount: 1 } },
      { isApiErrorMessage: true, apiErrorStatus: 529 },
    ]);
  });

  it('survive content of any wrong type', async () => {
    for (const content of [5, true, {}, { type: 'text', text: [] }, [[]], [null], [{ type: [] }], [{ text: 'x' }]]) {
      const { messages, errors } = await parse([userLine(content), assistantLine('m', content), userLine('b')]);
      expect(messages).toHaveLength(3);
      expect(errors).toEqual([]);
    }
  });
});

describe('rules 5 and 6: usage and cost', () => {
  const lines = [
    assistantLine('m1', 'a', { usage: toUsageFields(10, 3, 4, 5) }),
    assistantLine('m1', 'b', { usage: toUsageFields(10, 500, 4, 5) }),
    userLine('c'),
  ];

  it('come from the final line, and null for users', async () => {
    const { messages, stats } = await parse(lines);
    expect(messages.map(({ tokens_in, tokens_out, cost_usd }) => [tokens_in, tokens_out, cost_usd])).toEqual([
      [10, 500, 0.00754995],
      [null, null, null],
    ]);
    expect(stats).toMatchObject({ tokens_out: 500, cost_estimate_usd: 0.00754995 });
  });

  it('come from the first line on request', async () => {
    const { stats } = await parse(lines, { usageFrom: 'first' });
    expect(stats).toMatchObject({ tokens_in: 10, tokens_out: 3 });
  });

  it('use the given price table', async () => {
    const prices = {
      version: 'test',
      price: vi.fn(() => ({ costUsd: null, costs: null, basis: 'unpriced' as const })),
    };
    const { messages, stats } = await parse(
      [assistantLine('m', 'a', { model: 'x', usage: toUsageFields(1, 2) }, { timestamp: '2025-06-01T00:00:00Z' })],
      { prices },
    );
    expect(only(messages)).toMatchObject({ tokens_in: 1, cost_usd: null });
    expect(stats).toMatchObject({ cost_estimate_usd: null, api_response_count: 1, unpriced_count: 1 });
    expect(prices.price).toHaveBeenLastCalledWith({
      model: 'x',
      timestamp: '2025-06-01T00:00:00.000Z',
      usage: expect.objectContaining({ inputTokens: 1, outputTokens: 2 }),
      reportedCostUsd: null,
    });
  });

  it('report impossible token counts', async () => {
    const usage = {
      input_tokens: -1,
      output_tokens: 2.5,
      cache_read_input_tokens: 'seven',
      cache_creation_input_tokens: 9,
    };
    const { messages, warnings } = await parse([assistantLine('m', 'a', { usage })]);
    expect(only(messages)).toMatchObject({ tokens_in: 0, tokens_out: 0, cache_read: 0, cache_write: 9 });
    expect(warnings.map(({ code, error }) => [code, error])).toEqual([
      ['invalid_usage', 'Usage field input_tokens is no plausible figure'],
      ['invalid_usage', 'Usage field output_tokens is no plausible figure'],
      ['invalid_usage', 'Usage field cache_read_input_tokens is no plausible figure'],
    ]);
  });

  it('report every line that comes after its response was counted', async () => {
    const { messages, errors, stats } = await parse(
      ['m1', 'm2', 'm3', 'm4', 'm1', 'm1'].map((id) => assistantLine(id, 'a', { usage: toUsageFields(1, 9) })),
      { maxOpenMessages: 2 },
    );
    expect(messages).toHaveLength(6);
    expect(stats).toMatchObject({ api_response_count: 4, tokens_out: 36 });
    expect(errors.map(({ code, lineNumber }) => [code, lineNumber])).toEqual([
      ['late_line', 5],
      ['late_line', 6],
    ]);
  });
});

describe('rules 7 and 8: the session', () => {
  it('lasts from its earliest to its latest timestamp', async () => {
    const { metadata, stats } = await parse([
      userLine('a', { timestamp: '2025-06-01T00:00:10.000Z' }),
      userLine('b', { timestamp: '2025-06-01T00:00:00.500Z' }),
      { type: 'progress', timestamp: '2025-06-01T00:00:20.000Z' },
      userLine('c', { timestamp: '2025-06-01T00:00:15.000Z' }),
    ]);
    expect(metadata).toMatchObject({
      firstTimestamp: '2025-06-01T00:00:00.500Z',
      lastTimestamp: '2025-06-01T00:00:20.000Z',
    });
    expect(stats.duration_ms).toBe(19_500);
  });

  it('reports an invalid timestamp, but not a missing one', async () => {
    const { messages, warnings } = await parse([
      userLine('a', { timestamp: 'never' }),
      userLine('b', { timestamp: 1_748_736 }),
      userLine('c', { timestamp: null }),
      userLine('d'),
    ]);
    expect(messages.map(({ timestamp }) => timestamp)).toEqual([null, null, null, null]);
    expect(warnings.map(({ code, lineNumber }) => [code, lineNumber])).toEqual([
      ['invalid_timestamp', 1],
      ['invalid_timestamp', 2],
    ]);
  });

  it('reports an impossible date, on lines of any type, and does not guess another', async () => {
    const { messages, warnings, metadata, stats } = await parse([
      userLine('a', { timestamp: '2026-02-28T12:00:00Z' }),
      userLine('b', { timestamp: '2026-02-30T00:00:00Z' }),
      userLine('c', { timestamp: '2026-02-28T24:00:00Z' }),
      { type: 'ai-title', aiTitle: 'x', timestamp: '2026-02-29T00:00:00.000Z' },
    ]);
    expect(messages.map(({ timestamp }) => timestamp)).toEqual(['2026-02-28T12:00:00.000Z', null, null]);
    expect([metadata.lastTimestamp, stats.duration_ms]).toEqual(['2026-02-28T12:00:00.000Z', 0]);
    expect(warnings.map(({ code, lineNumber }) => [code, lineNumber])).toEqual([
      ['invalid_timestamp', 2],
      ['invalid_timestamp', 3],
      ['invalid_timestamp', 4],
    ]);
  });

  it('reports figures beyond their bounds with their line, and does not count them', async () => {
    const at = (timestamp: string) => ({ timestamp });
    const usage = { ...toUsageFields(1e8 + 1, 2), server_tool_use: { web_search_requests: 1001 } };
    const use = { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: {} };
    const { apiResponses, toolCalls, events, warnings, metadata } = await parse([
      assistantLine('m', [use], { usage }, { ...at('2025-06-01T00:00:00Z'), costUSD: 1e5 + 1 }),
      userLine([{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }], at('2025-07-01T00:00:00.001Z')),
      { type: 'system', subtype: 'api_retry', content: '', retryInMs: 1e300, retryAttempt: -1, maxRetries: 10 },
      { type: 'cost-state', totalCostUSD: 1e9 },
    ]);
    expect(apiResponses).toMatchObject([
      { tokens_in: 0, tokens_out: 2, web_search_requests: 0, reported_cost_usd: null },
    ]);
    expect(toolCalls).toMatchObject([{ duration_ms: null, is_error: false }]);
    expect(events.find(({ kind }) => kind === 'api_retry')?.details).toEqual({ maxRetries: 10 });
    expect(metadata.reportedTotals).toBeNull();
    expect(warnings.map(({ code, lineNumber, error }) => [code, lineNumber, error.split(' ')[2]])).toEqual([
      ['invalid_usage', 1, 'costUSD'],
      ['invalid_usage', 1, 'input_tokens'],
      ['invalid_usage', 1, 'web_search_requests'],
      ['implausible_figure', 2, 'duration_ms'],
      ['implausible_figure', 3, 'retryInMs'],
      ['implausible_figure', 3, 'retryAttempt'],
      ['invalid_usage', 4, 'totalCostUSD'],
    ]);
  });

  it('accepts figures at their bounds', async () => {
    const usage = { ...toUsageFields(1e8, 2), server_tool_use: { web_search_requests: 1000 } };
    const use = { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: {} };
    const { apiResponses, toolCalls, warnings } = await parse([
      assistantLine('m', [use], { usage }, { timestamp: '2025-06-01T00:00:00Z', costUSD: 1e5 }),
      userLine([{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }], { timestamp: '2025-07-01T00:00:00Z' }),
    ]);
    expect(apiResponses).toMatchObject([{ tokens_in: 1e8, web_search_requests: 1000, reported_cost_usd: 1e5 }]);
    expect(toolCalls).toMatchObject([{ duration_ms: 30 * 86_400_000 }]);
    expect(warnings).toEqual([]);
  });

  it('begins with the first text that the user typed', async () => {
    const typed = userLine('Fix the bug');
    const notTyped = [
      userLine('Caveat: The messages below were generated by the user while running local commands.', { isMeta: true }),
      userLine('<local-command-stdout></local-command-stdout>'),
      userLine([{ type: 'tool_result', tool_use_id: 't', content: 'x' }]),
      assistantLine('m', 'Hello'),
      { type: 'summary', summary: 's' },
      userLine('from the main agent', { isSidechain: true }),
    ];
    const { stats } = await parse([...notTyped, typed, userLine('And now the other')]);
    expect(stats.initial_prompt).toBe('Fix the bug');
    expect((await parse(notTyped)).stats.initial_prompt).toBe('from the main agent');
    expect((await parse(notTyped.slice(0, -1))).stats.initial_prompt).toBeNull();
  });

  it('cuts a long prompt between characters', async () => {
    const { stats } = await parse([userLine(`${'x'.repeat(999)}🎉${'y'.repeat(50)}`)]);
    expect(stats.initial_prompt).toBe(`${'x'.repeat(999)}...`);
  });

  it('counts sub-agents by their tool uses', async () => {
    const use = (name: string) => ({ type: 'tool_use', id: name, name, input: {} });
    const { stats } = await parse([
      assistantLine('m1', [use('Task'), use('Bash')]),
      assistantLine('m2', [use('Agent'), use('TaskOutput')]),
    ]);
    expect(stats).toMatchObject({ subagent_count: 2, tool_use_count: 4 });
  });
});

describe('rule 9: long content', () => {
  it('is cut at 262,144 bytes by default', async () => {
    const text = 'é'.repeat(131_073);
    const { contentBlocks } = await parse([userLine(text), userLine(text.slice(1))]);
    expect(contentBlocks.map(({ content_text, metadata }) => [content_text?.length, metadata])).toEqual([
      [131_072, { truncated: true, original_byte_length: 262_146 }],
      [131_072, {}],
    ]);
  });
});

describe('rule 10: long lines', () => {
  const lineOf = (byteLength: number) => {
    const frame = JSON.stringify(userLine('')).length;
    return JSON.stringify(userLine('x'.repeat(byteLength - frame)));
  };

  it('are read up to 5 MiB by default, and skipped beyond that', async () => {
    const limit = 5 * 1024 * 1024;
    const { messages, errors, metadata } = await parse([lineOf(limit), lineOf(limit + 1), userLine('after')]);
    expect(messages.map(({ line_number }) => line_number)).toEqual([1, 3]);
    expect(errors).toEqual([
      { lineNumber: 2, byteOffset: limit + 1, code: 'line_too_long', error: 'Line exceeds max size', count: 1 },
    ]);
    expect(metadata.lineCount).toBe(3);
  });

  describe('that are truncated', () => {
    const GIANT_BYTES = 12 * 1024 * 1024;
    const options = { longLines: 'cut' } as const;
    const usage = {
      input_tokens: 10,
      cached_input_tokens: 4,
      output_tokens: 7,
      reasoning_output_tokens: 2,
      total_tokens: 17,
    };
    const TEXT = '<text>';

    /** The lines with TEXT replaced by a text or list of many bytes. */
    async function* grow(lines: string, filler: string): AsyncGenerator<Buffer> {
      const [before = '', after = ''] = lines.split(TEXT);
      yield Buffer.from(before);
      const chunk = Buffer.from(filler.repeat(Math.ceil(65_536 / filler.length)));
      for (let bytes = 0; bytes < GIANT_BYTES; bytes += chunk.length) yield chunk;
      yield Buffer.from(after);
    }

    it.each([
      ['a text', TEXT, 'x\\n\\"é'],
      ['many elements', `"},${TEXT}{"type":"text","text":"`, '{"type":"text","text":"x"},'],
      ['nested content', `"},{"type":"text","text":"y","nested":[${TEXT}0]},{"type":"text","text":"`, '[{"a":[1]}],'],
    ])('count their usage: %s', async (_name, content, filler) => {
      const line = assistantLine('msg_1', [{ type: 'text', text: content }], {
        usage: toUsageFields(10, 40, 5, 7),
        stop_reason: 'end_turn',
      });
      const json = toJsonl(line, userLine('after')).replaceAll('\\"', '"');
      const { messages, apiResponses, errors, warnings, metadata } = await parseTranscript(
        's',
        grow(json, filler),
        options,
      );
      expect(messages.map(({ line_number, message_type }) => [line_number, message_type])).toEqual([
        [1, 'assistant'],
        [2, 'user'],
      ]);
      expect(apiResponses).toMatchObject([{ tokens_in: 10, tokens_out: 40, cache_read: 5, cache_write: 7 }]);
      const issues = [...errors, ...warnings].filter(({ code }) => code !== 'too_many_blocks');
      expect(issues.map(({ code, lineNumber, byteOffset }) => [code, lineNumber, byteOffset])).toEqual([
        ['line_cut', 1, 0],
      ]);
      const byteLength = messages[0]?.byte_length ?? 0;
      expect(byteLength).toBeGreaterThan(GIANT_BYTES);
      expect(issues[0]?.error).toContain(`Line of ${byteLength} bytes`);
      expect(metadata.byteLength).toBeGreaterThan(byteLength);
    });

    it('keep the beginning of a long text in their rows, with the length of the whole', async () => {
      const { contentBlocks } = await parseTranscript('s', grow(toJsonl(userLine(TEXT)), '\\n'), options);
      expect(contentBlocks[0]?.content_text).toBe('\n'.repeat(262_144));
      expect(contentBlocks[0]?.metadata).toEqual({ truncated: true, original_byte_length: GIANT_BYTES / 2 });
    });

    it('give the size of an image', async () => {
      const source = { type: 'base64', media_type: 'image/png', data: TEXT };
      const image = grow(toJsonl(userLine([{ type: 'image', source }])), 'AAAA');
      const { contentBlocks } = await parseTranscript('s', image, options);
      expect(JSON.stringify(contentBlocks[0]?.metadata)).toContain(`"byte_length":${(GIANT_BYTES * 3) / 4}}`);
    });

    it.each([
      [
        'a count',
        {
          type: 'event_msg',
          payload: { type: 'token_count', note: TEXT, info: { last_token_usage: usage, total_token_usage: usage } },
        },
      ],
      [
        'a record',
        { type: 'token_usage_record', payload: { note: TEXT, response_id: 'resp_1', turn_id: 'turn_1', usage } },
      ],
      [
        'a compaction',
        {
          type: 'compacted',
          payload: { message: TEXT, latest_token_usage_record: { response_id: 'resp_1', turn_id: 'turn_1', usage } },
        },
      ],
    ])('count the usage of Codex: %s', async (_name, line) => {
      const meta = {
        type: 'session_meta',
        payload: { id: 's', timestamp: '2026-01-01T00:00:00Z', cli_version: '0.99.0' },
      };
      const turn = { type: 'turn_context', payload: { turn_id: 'turn_1', model: 'gpt-5' } };
      const at = { timestamp: '2026-01-01T00:00:01Z' };
      const json = toJsonl({ ...meta, ...at }, { ...turn, ...at }, { ...line, ...at });
      const { apiResponses, errors } = await parseTranscript('s', grow(json, 'x'), {
        ...options,
        format: 'codex-rollout',
      });
      expect(errors).toEqual([]);
      expect(apiResponses).toMatchObject([{ tokens_in: 6, cache_read: 4, tokens_out: 7, model: 'gpt-5' }]);
    });

    it('give the same rows in chunks of any size', async () => {
      const long = Array.from({ length: 200 }, (_, index) => ({ type: 'text', text: 'é"\\\n'.repeat(index) }));
      const lines = toJsonl(
        userLine('before'),
        assistantLine('msg_1', long, { usage: toUsageFields(10, 40) }),
        userLine('after'),
      );
      const small = { ...options, maxLineBytes: 5000 };
      const expected = await parseTranscript('s', lines, small);
      expect(expected.apiResponses).toMatchObject([{ tokens_out: 40 }]);
      expect(expected.errors).toMatchObject([{ code: 'line_cut', lineNumber: 2 }]);
      for (const [name, open] of toInputs(Buffer.from(lines))) {
        expectSame({ name, ...(await parseTranscript('s', open(), small)) }, { name, ...expected });
      }
    });
  });

  it('may also be the last, without a line feed', async () => {
    const { errors, warnings, metadata } = await parseText(`${lineOf(100)}\n${lineOf(101)}`, { maxLineBytes: 100 });
    expect(errors.map(({ code }) => code)).toEqual(['line_too_long']);
    expect(warnings).toEqual([]);
    expect(metadata).toMatchObject({ lineCount: 2, byteLength: 202 });
  });
});

describe('rule 11: unusual input', () => {
  it('may be empty', async () => {
    for (const input of ['', new Uint8Array(), Readable.from([])]) {
      expect(await parseTranscript('s', input)).toEqual({
        messages: [],
        contentBlocks: [],
        apiResponses: [],
        toolCalls: [],
        events: [],
        stats: zeroStats,
        errors: [],
        warnings: [],
        notices: [],
        metadata: {
          sessionId: null,
          cwd: null,
          version: null,
          gitBranch: null,
          repository: null,
          commitHash: null,
          firstTimestamp: null,
          lastTimestamp: null,
          entrypoint: null,
          agentId: null,
          title: null,
          titleSource: null,
          permissionMode: null,
          agentName: null,
          models: [],
          pullRequests: [],
          reportedTotals: null,
          forkedFromSessionId: null,
          lineCount: 0,
          byteLength: 0,
          lineTypes: {},
        },
      });
    }
  });

  it('may begin with a byte order mark, or contain one per file if files were concatenated', async () => {
    const line = `\uFEFF${toJsonl(userLine('a'))}`;
    const { messages, warnings, errors } = await parseText(`${line}${line}\uFEFF`);
    expect(messages).toHaveLength(2);
    expect(errors).toEqual([]);
    expect(warnings.map(({ code, lineNumber }) => [code, lineNumber])).toEqual([
      ['byte_order_mark', 1],
      ['byte_order_mark', 2],
      ['byte_order_mark', 3],
    ]);
  });

  it('may lack the last line feed', async () => {
    const { messages, errors, warnings } = await parseText(JSON.stringify(userLine('a')));
    expect(messages).toHaveLength(1);
    expect(errors).toEqual([]);
    expect(warnings.map(({ code, lineNumber }) => [code, lineNumber])).toEqual([['missing_final_newline', 1]]);
    expect((await parseText(`${toJsonl(userLine('a'))}  `)).warnings).toEqual([]);
  });

  it('may end within a line', async () => {
    const { messages, errors, warnings } = await parseText(`${toJsonl(userLine('a'))}{"type":"user","mess`);
    expect(messages).toHaveLength(1);
    expect(warnings).toEqual([]);
    expect(errors).toEqual([
      {
        lineNumber: 2,
        byteOffset: toJsonl(userLine('a')).length,
        code: 'truncated_last_line',
        error: 'Invalid JSON',
        count: 1,
      },
    ]);
  });

  it('may contain NUL and lone surrogates, in names as in values', async () => {
    const { contentBlocks, warnings } = await parse([
      '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"\\u0000","input":{"\\udc00":"\\ud83d"}}]}}',
      '{"type":"user","message":{"content":"fine: \\ud83d\\ude00 \\\\u0000"}}',
    ]);
    expect(contentBlocks[0]).toMatchObject({ tool_name: '\uFFFD', tool_input: { '\uFFFD': '\uFFFD' } });
    expect(contentBlocks[1]?.content_text).toBe('fine: 😀 \\u0000');
    expect(warnings.map(({ code, lineNumber, count }) => [code, lineNumber, count])).toEqual([
      ['replaced_characters', 1, 3],
    ]);
  });

  it('may contain bytes that are not UTF-8', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"type":"user","message":{"content":"'),
      Buffer.from([0xe9, 0x20, 0xf0, 0x9f, 0x8e]),
      Buffer.from('"}}\n'),
    ]);
    const { contentBlocks, warnings } = await parseText(bytes);
    expect(only(contentBlocks).content_text).toBe('\uFFFD \uFFFD');
    expect(warnings.map(({ code, count }) => [code, count])).toEqual([['invalid_utf8', 2]]);
  });

  it('may contain raw NUL bytes, as a crash leaves them', async () => {
    const { messages, errors } = await parse(['\0\0\0\0', `${JSON.stringify(userLine('a'))}\0\0`, userLine('b')]);
    expect(messages.map(({ line_number }) => line_number)).toEqual([2, 3]);
    expect(errors.map(({ code, lineNumber }) => [code, lineNumber])).toEqual([
      ['invalid_json', 1],
      ['invalid_json', 2],
    ]);
  });
});
