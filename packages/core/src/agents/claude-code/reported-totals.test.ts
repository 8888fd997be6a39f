import { describe, expect, it } from 'vitest';
import { toReportedTotals } from './reported-totals.ts';

const modelUsage = {
  'claude-a': { inputTokens: 1, outputTokens: 20, cacheReadInputTokens: 300, cacheCreationInputTokens: 4000 },
  'claude-b': { inputTokens: 5, outputTokens: 'six', costUSD: 1 },
  broken: 'x',
};
const sums = { tokens_in: 6, tokens_out: 20, cache_read: 300, cache_write: 4000 };

const ignore = () => undefined;

describe('toReportedTotals', () => {
  it('sums the models of a cost-state', () => {
    expect(toReportedTotals({ totalCostUSD: 0.0319246, modelUsage }, 'cost-state', ignore)).toEqual({
      source: 'cost-state',
      cost_usd: 0.0319246,
      ...sums,
    });
    expect(toReportedTotals({ total_cost_usd: 1, modelUsage }, 'cost-state', ignore)).toBeUndefined();
  });

  it.each(['total_cost_usd', 'cost_usd', 'costUSD'])('reads a result with %s', (field) => {
    expect(toReportedTotals({ [field]: 2, modelUsage, usage: { input_tokens: 99 } }, 'result', ignore)).toEqual({
      source: 'result',
      cost_usd: 2,
      ...sums,
    });
    expect(toReportedTotals({ [field]: 'two', modelUsage }, 'result', ignore)).toBeUndefined();
  });

  it('accepts a trillion tokens of a session, and reports more', () => {
    const invalid: string[] = [];
    const read = (inputTokens: number) =>
      toReportedTotals({ totalCostUSD: 1, modelUsage: { a: { inputTokens } } }, 'cost-state', (field) => {
        invalid.push(field);
      });
    expect(read(1e12)).toMatchObject({ tokens_in: 1e12 });
    expect(invalid).toEqual([]);
    expect(read(1e12 + 1)).not.toMatchObject({ tokens_in: 1e12 + 1 });
    expect(invalid).toEqual(['inputTokens']);
  });

  it('reads the usage of a result that has none by model', () => {
    const usage = { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: -3 };
    expect(toReportedTotals({ total_cost_usd: 0, usage }, 'result', ignore)).toEqual({
      source: 'result',
      cost_usd: 0,
      tokens_in: 1,
      tokens_out: 2,
      cache_read: null,
      cache_write: null,
    });
  });
});
