import { describe, expect, it } from 'vitest';
import { toKnownCost, toUsageFigures, type UsageSums } from './usage-figures.ts';

/** Costs are in units of 1e-10 dollars. Each sum differs from all others. */
const SUMS: UsageSums = {
  responses: 7,
  tokens_in: 1000,
  tokens_out: 200,
  cache_read: 6000,
  cache_write: 1000,
  cache_write_1h: 400,
  thinking_tokens: 50,
  web_search_requests: 3,
  cost_units: 15_000_000_001,
  cost_input_units: 1_000_000_000,
  cost_output_units: 2_000_000_000,
  cost_cache_read_units: 3_000_000_000,
  cost_cache_write_units: 4_000_000_000,
  cost_web_search_units: 5_000_000_001,
  unfinalised_responses: 2,
  unfinalised_tokens_out: 8,
  estimated_tokens_out: 90,
  unpriced_responses: 1,
  unpriced_tokens: 11,
  default_priced_responses: 4,
};

describe('toUsageFigures', () => {
  it('gives each sum its name, costs in dollars, and the share of input that was read from the cache', () => {
    expect(toUsageFigures(SUMS)).toEqual({
      responses: 7,
      tokens_in: 1000,
      tokens_out: 200,
      cache_read: 6000,
      cache_write: 1000,
      cache_write_1h: 400,
      thinking_tokens: 50,
      total_tokens: 8200,
      cache_hit_ratio: 0.75,
      web_search_requests: 3,
      cost_usd: 1.5000000001,
      cost_by_class: { input: 0.1, output: 0.2, cache_read: 0.3, cache_write: 0.4, web_search: 0.5000000001 },
      unfinalised: { responses: 2, tokens_out: 8, estimated_tokens_out: 90 },
      unpriced: { responses: 1, tokens: 11 },
      default_priced_responses: 4,
    });
  });

  it('has no share of an input that is empty, and no cost if no response has a price', () => {
    const sums = { ...SUMS, tokens_in: 0, cache_read: 0, cache_write: 0, unpriced_responses: 7 };
    expect(toUsageFigures(sums)).toMatchObject({
      total_tokens: 200,
      cache_hit_ratio: null,
      cost_usd: null,
      cost_by_class: null,
    });
  });
});

describe('toKnownCost', () => {
  it('is the cost of priced responses, nothing without responses, and unknown if none has a price', () => {
    expect(toKnownCost(5e9, { responses: 2, unpriced: 1 })).toBe(0.5);
    expect(toKnownCost(0, { responses: 0, unpriced: 0 })).toBe(0);
    expect(toKnownCost(0, { responses: 2, unpriced: 2 })).toBeNull();
  });
});
