import { describe, expect, it } from 'vitest';
import { toUsage } from '../agents/anthropic-api/usage.ts';
import { flatDefaultPrices } from './price-table.ts';

const costOf = (usage: Parameters<typeof toUsage>[0]) =>
  flatDefaultPrices.price({ model: null, timestamp: null, usage: toUsage(usage, () => undefined) });

describe('flatDefaultPrices', () => {
  it.each([
    ['input_tokens', 3],
    ['output_tokens', 15],
    ['cache_read_input_tokens', 0.3],
    ['cache_creation_input_tokens', 3.75],
  ])('prices a million %s at %d dollars', (field, usd) => {
    const { costUsd, costs, basis } = costOf({ [field]: 1_000_000 });
    expect([costUsd, basis]).toEqual([usd, 'default']);
    expect(Object.values(costs ?? {}).filter((cost) => cost !== 0)).toEqual([usd]);
  });

  it('is exact to 1e-10 dollars', () => {
    expect(costOf({ cache_read_input_tokens: 1 }).costUsd).toBe(0.0000003);
    expect(
      costOf({
        input_tokens: 7,
        output_tokens: 11,
        cache_read_input_tokens: 13,
        cache_creation_input_tokens: 17,
      }).costUsd,
    ).toBe(0.00025365);
    expect(costOf({}).costUsd).toBe(0);
  });

  it('has one price for every model and date, and a version', () => {
    const usage = toUsage({ input_tokens: 10 }, () => undefined);
    expect(flatDefaultPrices.price({ model: 'claude-opus-4', timestamp: '2025-06-01T00:00:00.000Z', usage })).toEqual(
      flatDefaultPrices.price({ model: null, timestamp: null, usage }),
    );
    expect(flatDefaultPrices.version).not.toBe('');
  });
});
