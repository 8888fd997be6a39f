import { describe, expect, it } from 'vitest';
import { compareWithLiteLlm } from './compare-lite-llm.ts';
import { createListPrices, createPriceTable } from './model-price-table.ts';

const override = { model: 'house-model', inputUsdPerMillion: 3, outputUsdPerMillion: 15, cacheReadUsdPerMillion: 0.3 };
const table = createPriceTable({
  overrides: [
    { ...override, longContext: { thresholdTokens: 200_000, inputUsdPerMillion: 6, outputUsdPerMillion: 22.5 } },
  ],
});
const entry = {
  ...{ litellm_provider: 'anthropic', mode: 'chat' },
  ...{ input_cost_per_token: 3e-6, output_cost_per_token: 1.5e-5, cache_read_input_token_cost: 3e-7 },
  ...{ input_cost_per_token_above_200k_tokens: 6e-6, output_cost_per_token_above_200k_tokens: 2.25e-5 },
};
const compare = (more: object, options = {}) =>
  compareWithLiteLlm({ sample_spec: {}, 'house-model': { ...entry, ...more } }, table, options);

describe('compareWithLiteLlm', () => {
  it('finds equal rates equal, despite binary fractions', () => {
    const noCacheRateAbove = { cache_read_input_token_cost_above_200k_tokens: 6e-7 };
    expect(compare(noCacheRateAbove)).toEqual({ comparedModels: 1, equalModels: 1, differences: [], unpriced: [] });
  });

  it('names model, class and request size of each difference, in dollars per million', () => {
    const changed = { output_cost_per_token: 1.6e-5, input_cost_per_token_above_200k_tokens: 7e-6 };
    const noCacheRateAbove = { cache_read_input_token_cost_above_200k_tokens: 6e-7 };
    const about = { model: 'house-model', matched: 'house-model' };
    expect(compare({ ...changed, ...noCacheRateAbove })?.differences).toEqual([
      { ...about, class: 'output', overInputTokens: -1, ours: 15, theirs: 16 },
      { ...about, class: 'input', overInputTokens: 200_000, ours: 6, theirs: 7 },
    ]);
  });

  it('compares with a rate for all sizes if the file has none for large requests', () => {
    const { input_cost_per_token_above_200k_tokens: _rate, ...flat } = entry;
    const comparison = compareWithLiteLlm({ 'house-model': flat }, table);
    expect(comparison?.differences.find((difference) => difference.class === 'input')).toMatchObject({
      ...{ overInputTokens: 200_000, ours: 6, theirs: 3 },
    });
  });

  it('finds a band equal that begins one token earlier because it is written as the last of the band before', () => {
    const rates = { inputUsdPerMillion: 3, outputUsdPerMillion: 15, cacheReadUsdPerMillion: 0.3 };
    for (const thresholdTokens of [199_999, 200_000]) {
      const longContext = { thresholdTokens, inputUsdPerMillion: 6, outputUsdPerMillion: 22.5 };
      const written = createPriceTable({
        overrides: [{ model: 'house-model', ...rates, longContext: { ...longContext, cacheReadUsdPerMillion: 0.3 } }],
      });
      expect(compareWithLiteLlm({ 'house-model': entry }, written)?.differences).toEqual([]);
    }
    const gpt = {
      ...{ litellm_provider: 'openai', input_cost_per_token: 5e-6, input_cost_per_token_above_272k_tokens: 1e-5 },
      ...{ output_cost_per_token: 3e-5, output_cost_per_token_above_272k_tokens: 4.5e-5 },
      ...{ cache_read_input_token_cost: 5e-7, cache_read_input_token_cost_above_272k_tokens: 1e-6 },
    };
    expect(compareWithLiteLlm({ 'gpt-5.5': gpt }, createListPrices())?.differences).toEqual([]);
  });

  it('leaves other hosts, other modes and unpriced entries out', () => {
    const models = {
      'house-model': { ...entry, litellm_provider: 'azure' },
      'house-model-2': { ...entry, mode: 'image_generation' },
      'house-model-3': { litellm_provider: 'openai', mode: 'chat' },
      unheard: entry,
    };
    expect(compareWithLiteLlm(models, table)).toMatchObject({ comparedModels: 0, unpriced: ['unheard'] });
    expect(compareWithLiteLlm(models, table, { includesHosts: true })).toMatchObject({ comparedModels: 1 });
  });

  it('refuses a file of another kind', () => {
    for (const file of [null, [], 7, {}, { 'gpt-5': { mode: 'chat' } }]) {
      expect(compareWithLiteLlm(file, table)).toBeUndefined();
    }
  });

  it('agrees with LiteLLM’s list about its models', () => {
    const models = {
      'claude-sonnet-4-5-20250929': {
        ...entry,
        ...{ cache_creation_input_token_cost: 3.75e-6, cache_creation_input_token_cost_above_1hr: 6e-6 },
        ...{ cache_read_input_token_cost_above_200k_tokens: 6e-7 },
        ...{ cache_creation_input_token_cost_above_200k_tokens: 7.5e-6 },
        cache_creation_input_token_cost_above_1hr_above_200k_tokens: 1.2e-5,
      },
      'gpt-5': {
        ...{ litellm_provider: 'openai', mode: 'chat', input_cost_per_token: 1.25e-6, output_cost_per_token: 1e-5 },
        cache_read_input_token_cost: 1.25e-7,
      },
    };
    const comparison = compareWithLiteLlm(models, createListPrices());
    expect(comparison).toMatchObject({ comparedModels: 2, unpriced: [] });
    expect(comparison?.differences.filter(({ overInputTokens }) => overInputTokens === -1)).toEqual([]);
  });
});
