import { describe, expect, it, vi } from 'vitest';
import type { JsonObject } from '../lines/json.ts';
import type { ParseOptions } from '../parse/parse-options.ts';
import { parseTranscript } from '../parse/parse-transcript.ts';
import {
  assistantLine,
  only,
  progressLine,
  resultLine,
  toJsonl,
  toUsageFields,
  userLine,
} from '../testing/transcript-lines.ts';
import type { PriceTable } from './price-table.ts';

const id = (name: string) => `msg_${name.padStart(24, '0')}`;
const parse = (lines: readonly JsonObject[], options?: ParseOptions) =>
  parseTranscript('s', toJsonl(...lines), options);
const at = (second: number): JsonObject => ({
  timestamp: new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString(),
});

/** A cent for a search, and half a dollar for a response. */
const prices: PriceTable = {
  version: 'test',
  price: ({ model, usage, reportedCostUsd }) => {
    if (model === 'unknown') {
      return reportedCostUsd == null
        ? { costUsd: null, costs: null, basis: 'unpriced' }
        : { costUsd: reportedCostUsd, costs: null, basis: 'reported' };
    }
    const webSearch = usage.webSearchRequests / 100;
    const costs = { input: 0.5, output: 0, cacheRead: 0, cacheWrite: 0, webSearch };
    return { costUsd: 0.5 + webSearch, costs, basis: 'list' };
  },
};

describe('the API response of a message', () => {
  it('has every field', async () => {
    const usage = {
      ...toUsageFields(10, 1, 300, 70),
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 50 },
      server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 },
      service_tier: 'priority',
      speed: 'fast',
      inference_geo: 'us',
      output_tokens_details: { thinking_tokens: 4 },
    };
    const fields = { requestId: 'r', gitBranch: 'b', version: '2', isSidechain: true, agentId: 'a' };
    const lines = [
      assistantLine(
        id('1'),
        'x',
        { model: 'claude-x', usage },
        { ...fields, ...at(0), forkedFrom: { sessionId: 'p' } },
      ),
      assistantLine(
        id('1'),
        'y',
        { usage: { ...usage, output_tokens: 40 }, stop_reason: 'end_turn' },
        { ...fields, ...at(9), gitBranch: 'later' },
      ),
    ];
    const { apiResponses, messages, stats } = await parse(lines, { prices });
    expect(only(apiResponses)).toEqual({
      response_key: id('1'),
      source: 'message',
      session_id: 's',
      message_id: only(messages).id,
      provider_message_id: id('1'),
      request_id: 'r',
      model: 'claude-x',
      timestamp: '2026-01-01T00:00:00.000Z',
      turn_line: 0,
      is_subagent: true,
      agent_id: 'a',
      git_branch: 'b',
      agent_version: '2',
      is_marked_copy: true,
      tokens_in: 10,
      tokens_out: 40,
      cache_read: 300,
      cache_write: 70,
      cache_write_5m: 20,
      cache_write_1h: 50,
      thinking_tokens: 4,
      web_search_requests: 2,
      web_fetch_requests: 1,
      service_tier: 'priority',
      speed: 'fast',
      inference_geo: 'us',
      request_tokens: null,
      is_unfinalised: false,
      estimated_tokens_out: null,
      reported_cost_usd: null,
      cost_usd: 0.52,
      cost_input_usd: 0.5,
      cost_output_usd: 0,
      cost_cache_read_usd: 0,
      cost_cache_write_usd: 0,
      cost_web_search_usd: 0.02,
      price_basis: 'list',
      line_number: 1,
    });
    expect(stats).toMatchObject({
      api_response_count: 1,
      web_search_count: 2,
      tokens_out: 40,
      cost_estimate_usd: 0.52,
    });
  });

  it('is missing if no line has usage, and for synthetic messages', async () => {
    const { apiResponses, stats } = await parse([
      assistantLine(id('1'), 'x', { model: 'claude-x' }),
      assistantLine(id('2'), 'x', { model: '<synthetic>', usage: toUsageFields(5, 5) }),
      userLine('x', { message: { id: id('3'), usage: toUsageFields(5, 5) } }),
    ]);
    expect(apiResponses).toEqual([]);
    expect(stats).toMatchObject({ tokens_in: null, tokens_out: null, cost_estimate_usd: null, api_response_count: 0 });
    const madeUp = await parse([assistantLine(id('2'), 'x', { model: '<synthetic>', usage: toUsageFields(5, 5) })]);
    expect(madeUp.stats).toMatchObject({ tokens_in: 0, cost_estimate_usd: 0, api_response_count: 0 });
  });

  it('is distinguished from another by the request if the ids are too short to be unique', async () => {
    const line = (requestId: string | null, output: number, messageId = 'msg_1') =>
      assistantLine(messageId, 'x', { usage: toUsageFields(1, output) }, { requestId });
    const short = await parse([line('r1', 20), line('r2', 30), line('r1', 40), line(null, 50), line('r2', 60)]);
    expect(short.apiResponses.map(({ response_key, tokens_out }) => [response_key, tokens_out])).toEqual([
      ['msg_1/r1', 50],
      ['msg_1/r2', 60],
    ]);
    expect(short.messages).toHaveLength(2);
    const long = await parse([line('r1', 20, id('1')), line('r2', 30, id('1'))]);
    expect(only(long.apiResponses)).toMatchObject({ response_key: id('1'), request_id: 'r1', tokens_out: 30 });
  });

  it('is counted once for copies of a line without a message id', async () => {
    const line = assistantLine(null, 'x', { usage: toUsageFields(1, 20) }, { uuid: 'u1' });
    const other = assistantLine(null, 'x', { usage: toUsageFields(1, 20) });
    const { messages, apiResponses, stats } = await parse([line, other, line, other]);
    expect(messages.map(({ tokens_out }) => tokens_out)).toEqual([20, 20, 20, 20]);
    expect(apiResponses.map(({ response_key }) => response_key).sort()).toEqual(['line:s:2', 'line:s:4', 'uuid:u1']);
    expect(stats.tokens_out).toBe(60);
  });

  it('has the figures of a later line that differs in any one field', async () => {
    const first = {
      ...toUsageFields(1, 1, 1, 1),
      cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 1 },
      server_tool_use: { web_search_requests: 1, web_fetch_requests: 1 },
      output_tokens_details: { thinking_tokens: 1 },
    };
    const changes: [JsonObject, JsonObject][] = [
      [{ input_tokens: 2 }, { tokens_in: 2 }],
      [{ output_tokens: 2 }, { tokens_out: 2 }],
      [{ cache_read_input_tokens: 2 }, { cache_read: 2 }],
      [{ server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 } }, { web_search_requests: 2 }],
      [{ server_tool_use: { web_search_requests: 1, web_fetch_requests: 2 } }, { web_fetch_requests: 2 }],
      [{ output_tokens_details: { thinking_tokens: 2 } }, { thinking_tokens: 2 }],
      [{ service_tier: 'priority' }, { service_tier: 'priority' }],
      [{ speed: 'fast' }, { speed: 'fast' }],
      [{ inference_geo: 'us' }, { inference_geo: 'us' }],
    ];
    for (const [change, expected] of changes) {
      const line = (usage: JsonObject) => assistantLine(id('1'), 'x', { usage, stop_reason: 'end_turn' });
      const [before, after] = [await parse([line(first)]), await parse([line(first), line({ ...first, ...change })])];
      const toFigures = ({ apiResponses }: typeof before) =>
        Object.fromEntries(Object.entries(only(apiResponses)).filter(([name]) => !/^(cost_|message_id)/.test(name)));
      expect(toFigures(after)).toEqual({ ...toFigures(before), ...expected });
    }
  });

  it('has no tier, speed or place if these are empty or not texts', async () => {
    for (const value of ['', 5, null, {}]) {
      const usage = { ...toUsageFields(1, 1), service_tier: value, speed: value, inference_geo: value };
      const { apiResponses } = await parse([assistantLine(id('1'), 'x', { usage })]);
      expect(only(apiResponses)).toMatchObject({ service_tier: null, speed: null, inference_geo: null });
    }
  });

  it('tells reported from missing prices', async () => {
    const line = (name: string, fields: JsonObject) =>
      assistantLine(id(name), 'x', { model: 'unknown', usage: toUsageFields(1, 9) }, fields);
    const { apiResponses, stats } = await parse([line('1', {}), line('2', { costUSD: 0.25 })], { prices });
    expect(apiResponses).toMatchObject([
      { cost_usd: null, cost_input_usd: null, price_basis: 'unpriced', reported_cost_usd: null },
      { cost_usd: 0.25, cost_input_usd: null, price_basis: 'reported', reported_cost_usd: 0.25 },
    ]);
    expect(stats).toMatchObject({ unpriced_count: 1, cost_estimate_usd: 0.25 });
  });

  it('is priced once, however many lines it has', async () => {
    const price = vi.fn(prices.price);
    const line = (output: number) => assistantLine(id('1'), 'x', { model: 'x', usage: toUsageFields(1, output) });
    await parse([line(1), line(1), line(1), line(30)], { prices: { version: 'test', price } });
    expect(price).toHaveBeenCalledTimes(1);
  });
});

describe('a placeholder', () => {
  const estimate = async (...contents: JsonObject[][]) => {
    const lines = contents.map((content) => assistantLine(id('1'), content, { usage: toUsageFields(1, 3) }));
    const { apiResponses, stats } = await parse(lines, { maxInlineContentBytes: 8 });
    const { is_unfinalised, estimated_tokens_out, tokens_out } = only(apiResponses);
    expect([is_unfinalised, tokens_out, stats.tokens_out, stats.unfinalised_count]).toEqual([true, 3, 3, 1]);
    return estimated_tokens_out;
  };
  const text = (value: string) => ({ type: 'text', text: value });

  it('has an estimate of four bytes per token, over all that the model wrote', async () => {
    expect(await estimate([text('x'.repeat(400))])).toBe(100);
    expect(await estimate([text('é'.repeat(400))])).toBe(200);
    expect(await estimate([text('日'.repeat(400))])).toBe(300);
    const thinking = { type: 'thinking', thinking: 'x'.repeat(400), signature: 'y'.repeat(900) };
    const input = { a: 'x'.repeat(392) };
    expect(await estimate([text('x'.repeat(40))], [thinking], [{ type: 'tool_use', id: 't', input }])).toBe(210);
  });

  it('counts withheld thinking by the length of its ciphertext', async () => {
    const signature = 'y'.repeat(240 + 1600);
    expect(await estimate([{ type: 'thinking', thinking: '', signature }])).toBe(300);
    expect(await estimate([{ type: 'redacted_thinking', data: signature }])).toBe(300);
    expect(await estimate([{ type: 'thinking', thinking: '', signature: 'y'.repeat(100) }])).toBe(3);
  });

  it('is never estimated below itself, nor from content that the model did not write', async () => {
    expect(await estimate([text('x')])).toBe(3);
    const content = 'x'.repeat(4000);
    expect(await estimate([{ type: 'web_search_tool_result', tool_use_id: 't', content }])).toBe(3);
    const call = { type: 'tool_use', id: 'toolu_00000000000000000001', name: 'A', input: { a: 'x'.repeat(392) } };
    expect(await estimate([call], [call])).toBe(100);
  });
});

describe('progress lines', () => {
  it('contain responses of sub-agents, which are not messages', async () => {
    const model = 'claude-haiku';
    const lines = [
      userLine('go', at(0)),
      progressLine(
        id('1'),
        'x'.repeat(80),
        { model, usage: toUsageFields(10, 1, 5, 7) },
        { requestId: 'r', ...at(1) },
        { gitBranch: 'b' },
      ),
      progressLine(id('2'), 'x', { usage: toUsageFields(1, 90) }),
      progressLine(id('1'), 'x'.repeat(80), { model, usage: toUsageFields(10, 3, 5, 9) }, { requestId: 'r', ...at(2) }),
    ];
    const { apiResponses, messages, contentBlocks, stats, metadata } = await parse(lines);
    expect(messages).toHaveLength(1);
    expect(contentBlocks).toHaveLength(1);
    expect(apiResponses).toMatchObject([
      {
        response_key: id('1'),
        source: 'progress',
        message_id: null,
        provider_message_id: id('1'),
        request_id: 'r',
        model,
        timestamp: '2026-01-01T00:00:01.000Z',
        is_subagent: true,
        agent_id: 'a1',
        git_branch: 'b',
        tokens_in: 10,
        tokens_out: 3,
        cache_read: 5,
        cache_write: 9,
        is_unfinalised: true,
        estimated_tokens_out: 20,
        line_number: 2,
      },
      { response_key: id('2'), source: 'progress', tokens_out: 90, is_unfinalised: false },
    ]);
    expect(stats).toMatchObject({ tokens_in: 11, tokens_out: 93, api_response_count: 2, turn_count: 0 });
    expect(metadata.models).toEqual([model]);
  });

  it('provide the figures of a message’s response if they are more complete, whichever comes first', async () => {
    const figures = async (ofProgress: JsonObject, ofMessage: JsonObject) => {
      const progress = progressLine(id('1'), 'x', ofProgress);
      const message = assistantLine(id('1'), 'x', ofMessage, { isSidechain: true });
      const read = async (lines: JsonObject[]) => {
        const { apiResponses, messages, stats } = await parse(lines);
        const { source, message_id, tokens_out, is_unfinalised } = only(apiResponses);
        expect({ source, message_id }).toEqual({ source: 'message', message_id: only(messages).id });
        expect(stats.tokens_out).toBe(tokens_out);
        return { tokens_out, is_unfinalised };
      };
      const result = await read([progress, message, progress]);
      expect(await read([message, progress])).toEqual(result);
      return result;
    };
    const low = { usage: toUsageFields(10, 40) };
    const high = { usage: toUsageFields(10, 400) };
    const placeholder = { usage: toUsageFields(10, 1) };
    expect(await figures(low, high)).toEqual({ tokens_out: 400, is_unfinalised: false });
    expect(await figures(high, low)).toEqual({ tokens_out: 400, is_unfinalised: false });
    expect(await figures({ ...placeholder, stop_reason: 'end_turn' }, placeholder)).toEqual({
      tokens_out: 1,
      is_unfinalised: false,
    });
    const progress = progressLine(id('1'), 'x', { usage: toUsageFields(10, 400) });
    const bare = assistantLine(id('1'), 'x');
    expect(only((await parse([bare, progress])).apiResponses)).toMatchObject({ source: 'progress', tokens_out: 400 });
  });
});

describe('a message and a progress line of one response', () => {
  const join = async (ofMessage: JsonObject, ofProgress: JsonObject, texts = { message: 'x', progress: 'x' }) => {
    const message = assistantLine(id('1'), texts.message, ofMessage, { isSidechain: true });
    const progress = progressLine(id('1'), texts.progress, ofProgress);
    const ways = await Promise.all([parse([message, progress]), parse([progress, message])]);
    const [response, other] = ways.map(({ apiResponses }) => only(apiResponses));
    expect({ ...other, message_id: '', line_number: 0 }).toEqual({ ...response, message_id: '', line_number: 0 });
    return response;
  };

  it('have the figures of the message if both are equally complete', async () => {
    const tie = await join({ usage: toUsageFields(10, 40, 5) }, { usage: toUsageFields(99, 40, 77) });
    expect(tie).toMatchObject({ tokens_in: 10, tokens_out: 40, cache_read: 5 });
    const fuller = await join({ usage: toUsageFields(10, 40, 5) }, { usage: toUsageFields(99, 41, 77) });
    expect(fuller).toMatchObject({ tokens_in: 99, tokens_out: 41, cache_read: 77 });
    const poorer = await join({ usage: toUsageFields(10, 40, 5) }, { usage: toUsageFields(99, 39, 77) });
    expect(poorer).toMatchObject({ tokens_in: 10, tokens_out: 40, cache_read: 5 });
  });

  it('are estimated from the copy that shows more content', async () => {
    const placeholder = { usage: toUsageFields(10, 1) };
    const [long, short] = ['x'.repeat(400), 'x'.repeat(40)];
    for (const texts of [
      { message: long, progress: short },
      { message: short, progress: long },
    ]) {
      expect(await join(placeholder, placeholder, texts)).toMatchObject({
        is_unfinalised: true,
        estimated_tokens_out: 100,
      });
    }
  });

  it('have the advisors of the one whose figures count', async () => {
    const toFields = (output: number, advice: number) => {
      const iterations = [{ type: 'advisor_message', model: 'a', ...toUsageFields(1, advice) }];
      return { usage: { ...toUsageFields(10, output), iterations } };
    };
    const adviceOf = async (ofMessage: JsonObject, ofProgress: JsonObject) => {
      const lines = [assistantLine(id('1'), 'x', ofMessage), progressLine(id('1'), 'x', ofProgress)];
      const { apiResponses } = await parse(lines);
      return apiResponses.map(({ source, tokens_out }) => [source, tokens_out]);
    };
    expect(await adviceOf(toFields(40, 7), toFields(40, 9))).toEqual([
      ['message', 40],
      ['advisor', 7],
    ]);
    expect(await adviceOf(toFields(40, 7), toFields(50, 9))).toEqual([
      ['message', 50],
      ['advisor', 9],
    ]);
  });
});

describe('requests billed apart', () => {
  const advisor = (model: string, output: number) => ({ type: 'advisor_message', model, ...toUsageFields(7, output) });

  it('are separate responses, under their own model; an answer of a fallback is not', async () => {
    const iterations = [
      { type: 'message', model: 'claude-x', ...toUsageFields(1, 0) },
      advisor('claude-a', 20),
      { type: 'fallback_message', model: 'claude-f', ...toUsageFields(1, 10) },
      'x',
      advisor('claude-b', 30),
    ];
    const usage = { ...toUsageFields(1, 10), iterations };
    const line = assistantLine(id('1'), 'x', { model: 'claude-x', usage }, { requestId: 'r', costUSD: 0.5, ...at(1) });
    const { apiResponses, messages, stats } = await parse([line, line], { prices });
    const common = { message_id: only(messages).id, request_id: 'r', timestamp: '2026-01-01T00:00:01.000Z' };
    expect(apiResponses).toMatchObject([
      {
        ...common,
        response_key: id('1'),
        source: 'message',
        model: 'claude-x',
        tokens_out: 10,
        reported_cost_usd: 0.5,
      },
      {
        ...common,
        response_key: `${id('1')}#advisor-1`,
        source: 'advisor',
        model: 'claude-a',
        tokens_in: 7,
        tokens_out: 20,
        is_unfinalised: false,
        reported_cost_usd: null,
      },
      { ...common, response_key: `${id('1')}#advisor-2`, source: 'advisor', model: 'claude-b', tokens_out: 30 },
    ]);
    expect(stats).toMatchObject({ tokens_in: 15, tokens_out: 60, api_response_count: 3, cost_estimate_usd: 1.5 });
    expect(only(messages)).toMatchObject({ tokens_out: 10, cost_usd: 0.5 });
  });

  it('are attempts with output and compactions, once in all lines and copies', async () => {
    const iterations = [
      { type: 'compaction', ...toUsageFields(300, 3) },
      { type: 'message', model: 'claude-a', ...toUsageFields(1, 20) },
      { type: 'fallback_message', model: 'claude-x', ...toUsageFields(1, 10) },
    ];
    const usage = { ...toUsageFields(1, 10), iterations };
    const started = assistantLine(id('1'), 'x', {
      model: 'claude-x',
      usage: { ...toUsageFields(1, 1), iterations: [] },
    });
    const line = assistantLine(id('1'), 'x', { model: 'claude-x', usage });
    const { apiResponses, errors } = await parse([started, line, line], { prices });
    expect(apiResponses.map((row) => [row.response_key, row.source, row.model, row.tokens_in, row.tokens_out])).toEqual(
      [
        [id('1'), 'message', 'claude-x', 1, 10],
        [`${id('1')}#fallback-1`, 'fallback', 'claude-a', 1, 20],
        [`${id('1')}#compaction-1`, 'compaction', 'claude-x', 300, 3],
      ],
    );
    expect(errors).toEqual([]);
  });

  it('include the parts of a paused answer before the pause', async () => {
    const pausedResponses = [{ limit: 'tokens', usage: toUsageFields(50, 7) }];
    const message = { model: 'claude-x', usage: toUsageFields(60, 9), pausedResponses };
    const line = assistantLine(id('1'), 'x', message);
    const { apiResponses } = await parse([line, line], { prices });
    expect(apiResponses.map(({ source, model, tokens_in }) => [source, model, tokens_in])).toEqual([
      ['message', 'claude-x', 60],
      ['paused', 'claude-x', 50],
    ]);
  });

  it('are bounded for one response', async () => {
    const iterations = Array.from({ length: 1000 }, () => advisor('a', 1));
    const { apiResponses } = await parse([assistantLine(id('1'), 'x', { usage: { iterations } })]);
    expect(apiResponses).toHaveLength(129);
  });
});

describe('requests of one response', () => {
  const loop = (...outputs: number[]) =>
    outputs.map((output, index) => ({ type: 'message', ...toUsageFields(100 * (index + 1), output) }));

  it('stay if there are several, and add up to the final usage', async () => {
    const started = { ...toUsageFields(100, 1), iterations: loop(1) };
    const final = { ...toUsageFields(300, 15), iterations: loop(5, 10) };
    const lines = [started, final].map((usage) => assistantLine(id('1'), 'x', { model: 'claude-x', usage }));
    for (const order of [lines, lines.toReversed()]) {
      const { apiResponses } = await parse(order, { prices });
      expect(only(apiResponses)).toMatchObject({
        tokens_in: 300,
        request_tokens: [
          [100, 5, 0, 0, 0, 0],
          [200, 10, 0, 0, 0, 0],
        ],
      });
    }
  });

  it('are dropped if another line of the response has other figures', async () => {
    const lines = [{ ...toUsageFields(300, 15), iterations: loop(5, 10) }, toUsageFields(300, 40)];
    const { apiResponses } = await parse(lines.map((usage) => assistantLine(id('1'), 'x', { usage })));
    expect(only(apiResponses)).toMatchObject({ tokens_out: 40, request_tokens: null });
  });
});

describe('web searches', () => {
  const call = (toolId: string, name = 'WebSearch') => ({ type: 'tool_use', id: toolId, name, input: { query: 'q' } });
  const response = (searches: number, ...content: JsonObject[]) =>
    assistantLine(id('1'), content, {
      usage: { ...toUsageFields(1, 20), server_tool_use: { web_search_requests: searches } },
    });
  const searchesOf = async (...lines: JsonObject[]) => {
    const { apiResponses, messages, stats } = await parse(lines, { prices });
    const { web_search_requests, cost_web_search_usd, cost_usd } = only(apiResponses);
    expect([stats.web_search_count, cost_web_search_usd]).toEqual([web_search_requests, web_search_requests / 100]);
    expect(stats.cost_estimate_usd).toBe(cost_usd);
    const message = only(messages.filter(({ message_type }) => message_type === 'assistant'));
    expect(message).toMatchObject({
      tokens_out: 20,
      cost_usd,
      metadata: web_search_requests === 0 ? {} : { usage: { web_search_requests } },
    });
    return web_search_requests;
  };
  const result = (toolId: string, toolUseResult: JsonObject) => resultLine(toolId, 'x', { toolUseResult });

  it('are counted from the result if the usage has none', async () => {
    expect(
      await searchesOf(
        response(0, call('a'), call('b')),
        result('a', { searchCount: 2 }),
        result('b', { searchCount: 1 }),
      ),
    ).toBe(3);
    expect(await searchesOf(result('a', { searchCount: 2 }), response(0, call('a')))).toBe(2);
  });

  it('are counted from the usage if it has any', async () => {
    expect(await searchesOf(response(1, call('a')), result('a', { searchCount: 5 }))).toBe(1);
  });

  it('are counted from the searches that an older result names', async () => {
    const results = [{ tool_use_id: 'srvtoolu_1', content: [] }, 'summary', { tool_use_id: 'srvtoolu_2' }, { a: 1 }];
    expect(await searchesOf(response(0, call('a')), result('a', { query: 'q', results }))).toBe(2);
  });

  it('are counted once over copies, and not for other tools or broken counts', async () => {
    const answer = result('a', { searchCount: 2 });
    expect(await searchesOf(response(0, call('a')), answer, answer, response(0, call('a')), answer)).toBe(2);
    expect(await searchesOf(response(0, call('a', 'Read')), answer)).toBe(0);
    for (const searchCount of [-1, 1.5, 1e9]) {
      expect(await searchesOf(response(0, call('a')), result('a', { searchCount }))).toBe(0);
    }
  });
});

describe('the window of open responses', () => {
  it('emits responses in the order of their beginnings, each once, and reports late lines', async () => {
    const lines = ['1', '2', '1', '3', '4', '1'].map((name) =>
      assistantLine(id(name), 'x', { usage: toUsageFields(1, 20) }),
    );
    const progress = progressLine(id('5'), 'x', { usage: toUsageFields(1, 20) });
    const { apiResponses, errors } = await parse([...lines, progress], { maxOpenMessages: 2 });
    expect(apiResponses.map(({ response_key }) => response_key)).toEqual(['1', '2', '3', '4', '5'].map(id));
    expect(errors.map(({ code, lineNumber }) => [code, lineNumber])).toEqual([['late_line', 6]]);
  });
});
