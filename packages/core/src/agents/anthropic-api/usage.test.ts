import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../lines/json.ts';
import { MAX_TOKENS_PER_FIELD, toFinalUsage, toUsageMetadata } from '../../records/usage.ts';
import { listUnknownCounts, toUsage } from './usage.ts';

function read(usage: JsonObject) {
  const invalid: string[] = [];
  return { usage: toUsage(usage, (field) => invalid.push(field)), invalid };
}

const nothing = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  webSearchRequests: 0,
  webFetchRequests: 0,
  thinkingTokens: 0,
  serviceTier: null,
  speed: null,
  inferenceGeo: null,
};

const full: JsonObject = {
  input_tokens: 1,
  output_tokens: 2,
  cache_read_input_tokens: 3,
  cache_creation_input_tokens: 9,
  cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 5 },
  server_tool_use: { web_search_requests: 6, web_fetch_requests: 7 },
  output_tokens_details: { thinking_tokens: 8 },
  service_tier: 'batch',
  speed: 'fast',
  inference_geo: 'us',
};

describe('toUsage', () => {
  it('reads counts written as text', () => {
    const { usage, invalid } = read({ input_tokens: '1200', server_tool_use: { web_search_requests: '2' } });
    expect(usage).toEqual({ ...nothing, inputTokens: 1200, webSearchRequests: 2 });
    expect(invalid).toEqual([]);
  });

  it('raises cache writes to the sum of their priced parts', () => {
    const cache_creation = { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 5 };
    for (const cache_creation_input_tokens of [undefined, 0, 5, 'x']) {
      const { usage } = read({
        cache_creation,
        ...(cache_creation_input_tokens !== undefined && { cache_creation_input_tokens }),
      });
      expect(usage).toMatchObject({ cacheWriteTokens: 9, cacheWrite5mTokens: 4, cacheWrite1hTokens: 5 });
    }
    expect(read({ cache_creation, cache_creation_input_tokens: 12 }).usage.cacheWriteTokens).toBe(12);
  });

  it('reads every token class', () => {
    expect(read(full)).toEqual({
      usage: {
        inputTokens: 1,
        outputTokens: 2,
        cacheReadTokens: 3,
        cacheWriteTokens: 9,
        cacheWrite5mTokens: 4,
        cacheWrite1hTokens: 5,
        webSearchRequests: 6,
        webFetchRequests: 7,
        thinkingTokens: 8,
        serviceTier: 'batch',
        speed: 'fast',
        inferenceGeo: 'us',
      },
      invalid: [],
    });
  });

  it('treats missing and null as zero', () => {
    expect(read({})).toEqual({ usage: nothing, invalid: [] });
    expect(read({ input_tokens: null, cache_creation: null, server_tool_use: [], service_tier: null })).toEqual({
      usage: nothing,
      invalid: [],
    });
  });

  it.each([
    [-1],
    [1.5],
    ['many'],
    [true],
    [[5]],
    [{}],
    [MAX_TOKENS_PER_FIELD + 1],
    [1e300],
    [Number.POSITIVE_INFINITY],
  ])('treats %j tokens as none, and reports the field', (value) => {
    expect(read({ input_tokens: 1, output_tokens: value })).toEqual({
      usage: { ...nothing, inputTokens: 1 },
      invalid: ['output_tokens'],
    });
  });

  it('accepts the largest permitted count', () => {
    expect(read({ input_tokens: MAX_TOKENS_PER_FIELD })).toMatchObject({
      usage: { inputTokens: MAX_TOKENS_PER_FIELD },
      invalid: [],
    });
  });

  it('truncates the texts without splitting a character', () => {
    expect(read({ service_tier: `${'x'.repeat(63)}🎉` }).usage.serviceTier).toBe('x'.repeat(63));
  });
});

it('reports a part that is no object', () => {
  const usage = { input_tokens: 1, cache_creation: [7], server_tool_use: 'x', output_tokens_details: 5 };
  expect(read(usage)).toEqual({
    usage: { ...nothing, inputTokens: 1 },
    invalid: ['cache_creation', 'server_tool_use', 'output_tokens_details'],
  });
});

it.each([2, { heron: 1 }, '[left out]', 'a grey heron'])('reports a tier or a speed that is no name: %j', (value) => {
  const reported: string[] = [];
  const usage = toUsage({ input_tokens: 1, service_tier: value, speed: value, inference_geo: '' }, (field) =>
    reported.push(field),
  );
  expect(usage).toMatchObject({ serviceTier: null, speed: null });
  expect(reported).toEqual(['service_tier', 'speed']);
});

describe('toFinalUsage', () => {
  it('takes the maximum of each count, and the last text', () => {
    const earlier = read({ input_tokens: 9, output_tokens: 1, service_tier: 'standard', speed: 'fast' }).usage;
    const later = read({ input_tokens: 2, output_tokens: 30, service_tier: 'batch' }).usage;
    expect(toFinalUsage(earlier, later)).toEqual({
      ...nothing,
      inputTokens: 9,
      outputTokens: 30,
      serviceTier: 'batch',
      speed: 'fast',
    });
  });

  it('mixes up no two fields', () => {
    const { usage } = read(full);
    expect(toFinalUsage(usage, nothing)).toEqual(usage);
    expect(toFinalUsage(nothing, usage)).toEqual(usage);
  });
});

describe('toUsageMetadata', () => {
  it('keeps what has no column', () => {
    expect(toUsageMetadata(read(full).usage)).toEqual({
      cache_write_5m: 4,
      cache_write_1h: 5,
      web_search_requests: 6,
      web_fetch_requests: 7,
      thinking_tokens: 8,
      service_tier: 'batch',
      speed: 'fast',
      inference_geo: 'us',
    });
  });

  it('is undefined if there is nothing unusual', () => {
    const usage = { input_tokens: 5, service_tier: 'standard', speed: 'standard', inference_geo: 'not_available' };
    expect(toUsageMetadata(read(usage).usage)).toBeUndefined();
  });
});

it('has counts that no rule reads', () => {
  expect(listUnknownCounts({ ...full, total_tokens: 12, heron_tokens: 0, service_tier: 'heron' })).toEqual([]);
  const unknown = {
    heron_tokens: 7,
    cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1d_input_tokens: 8 },
    server_tool_use: { web_search_requests: 1, heron_requests: 9 },
  };
  expect(listUnknownCounts(unknown)).toEqual(['heron_tokens', 'ephemeral_1d_input_tokens', 'heron_requests']);
});
