import { describe, expect, it } from 'vitest';
import { createListPrices, createPriceTable } from './model-price-table.ts';
import type { PriceOverride } from './price-overrides.ts';
import { createUsage } from './testing/usage.ts';

const MILLION = createUsage({ inputTokens: 1_000_000 });
const priceWith = (overrides: PriceOverride[], model: string, timestamp: string | null = null, usage = MILLION) =>
  createPriceTable({ overrides }).price({ model, timestamp, usage });
const toOverride = (model: string, input: number, rest: Partial<PriceOverride> = {}): PriceOverride => ({
  model,
  inputUsdPerMillion: input,
  outputUsdPerMillion: 1,
  ...rest,
});

describe('overrides', () => {
  it('price models that are not in the list, and override those that are', () => {
    expect(priceWith([toOverride('glm-4.6', 0.6)], 'glm-4.6')).toEqual({
      costUsd: 0.6,
      costs: { input: 0.6, output: 0, cacheRead: 0, cacheWrite: 0, webSearch: 0 },
      basis: 'override',
    });
    expect(priceWith([toOverride('claude-opus-5', 4)], 'claude-opus-5').costUsd).toBe(4);
    expect(priceWith([toOverride('GLM-4.6', 0.6)], 'glm-4.6').costUsd).toBe(0.6);
    expect(priceWith([toOverride('glm-4.6', 0.6)], 'glm-4.6-air').basis).toBe('unpriced');
    expect(priceWith([toOverride('glm-4.6', 0.6)], 'claude-opus-5').basis).toBe('list');
  });

  it('apply the most specific first, then the latest that has begun, then the list', () => {
    const overrides = [
      toOverride('*', 1),
      toOverride('claude-*', 2),
      toOverride('claude-opus-*', 3),
      toOverride('claude-opus-5', 4, { startsAt: '2026-01-01' }),
      toOverride('claude-opus-5', 5, { startsAt: '2026-02-01T00:00:00+01:00' }),
    ];
    const input = (model: string, timestamp: string | null, of = overrides) => priceWith(of, model, timestamp).costUsd;
    for (const of of [overrides, overrides.toReversed()]) {
      expect(input('glm-4.6', null, of)).toBe(1);
      expect(input('claude-haiku-4-5', null, of)).toBe(2);
      expect(input('claude-opus-4-8', null, of)).toBe(3);
      expect(input('claude-opus-5', '2025-12-31T23:59:59.999Z', of)).toBe(3);
      expect(input('claude-opus-5', '2026-01-01T00:00:00.000Z', of)).toBe(4);
      expect(input('claude-opus-5', '2026-01-31T22:59:59.999Z', of)).toBe(4);
      expect(input('claude-opus-5', '2026-01-31T23:00:00.000Z', of)).toBe(5);
      expect(input('claude-opus-5', null, of)).toBe(5);
    }
    expect(input('claude-opus-5', '2025-12-31T00:00:00Z', overrides.slice(3))).toBe(5);
    expect(priceWith(overrides.slice(3), 'claude-opus-5', '2025-12-31T00:00:00Z').basis).toBe('list');
  });

  it('give omitted classes their usual multiple of the input', () => {
    const rates = createPriceTable({ overrides: [toOverride('m', 3)] }).describeRates('m', null);
    expect(rates).toMatchObject({ basis: 'override', matched: 'm', startsAt: null });
    expect(rates?.bands).toEqual([
      {
        overInputTokens: -1,
        rates: {
          inputUsdPerMillion: 3,
          outputUsdPerMillion: 1,
          cacheReadUsdPerMillion: 0.3,
          cacheWrite5mUsdPerMillion: 3.75,
          cacheWrite1hUsdPerMillion: 6,
          webSearchUsdPerThousand: 10,
        },
      },
    ]);
  });

  it('price long requests by their own rates', () => {
    const override = toOverride('m', 1, {
      webSearchUsdPerThousand: 20,
      longContext: { thresholdTokens: 1_000, inputUsdPerMillion: 2, outputUsdPerMillion: 3, cacheReadUsdPerMillion: 1 },
    });
    const cost = (inputTokens: number, cacheReadTokens: number) =>
      priceWith([override], 'm', null, createUsage({ inputTokens, cacheReadTokens, webSearchRequests: 1 })).costUsd;
    expect(cost(500, 500)).toBe(0.02 + 0.00055);
    expect(cost(501, 500)).toBe(0.021502);
  });

  it("apply the vendor's multipliers to models of the list only", () => {
    const usage = createUsage({ inputTokens: 1_000_000, speed: 'fast', inferenceGeo: 'us' });
    expect(priceWith([toOverride('claude-opus-4-8', 4)], 'claude-opus-4-8', null, usage).costUsd).toBe(8.8);
    expect(priceWith([toOverride('m', 4)], 'm', null, usage).costUsd).toBe(4);
    const regional = 'us.anthropic.claude-opus-4-8-v1:0';
    expect(priceWith([toOverride(regional, 4)], regional).costUsd).toBe(4);
  });
});

describe('version', () => {
  const version = (...overrides: PriceOverride[]) => createPriceTable({ overrides }).version;
  const a = toOverride('a', 1, { startsAt: '2026-01-01' });
  const b = toOverride('b', 1, { longContext: { thresholdTokens: 9, inputUsdPerMillion: 1, outputUsdPerMillion: 2 } });

  it('is the same for the same overrides, however they are written', () => {
    expect(version()).toBe(createListPrices().version);
    expect(version(a, b)).toBe(version(b, a));
    expect(version(a)).toBe(
      version({ startsAt: '2026-01-01T00:00:00.000Z', outputUsdPerMillion: 1, model: 'A', inputUsdPerMillion: 1 }),
    );
    expect(version(a)).toMatch(/^genai-prices-[\d.]+-rules-\d+\+[0-9a-f]{12}$/);
  });

  it('differs if any of them does', () => {
    const versions = [
      version(),
      version(a),
      version(b),
      version(a, b),
      version({ ...a, inputUsdPerMillion: 2 }),
      version(toOverride('a', 1)),
      version(
        toOverride('b', 1, { longContext: { thresholdTokens: 8, inputUsdPerMillion: 1, outputUsdPerMillion: 2 } }),
      ),
    ];
    expect(new Set(versions).size).toBe(versions.length);
  });
});
