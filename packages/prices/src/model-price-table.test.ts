import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { COST_UNITS_PER_USD, type Price, type RequestTokens, type Usage } from '@recount/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createListPrices, createPriceTable, MAX_CACHED_MODELS } from './model-price-table.ts';
import { createUsage } from './testing/usage.ts';

const prices = createListPrices();
const JULY_2026 = '2026-07-01T12:00:00.000Z';

const priceOf = (model: string | null, fields: Partial<Usage>, timestamp: string | null = JULY_2026): Price =>
  prices.price({ model, timestamp, usage: createUsage(fields) });

/** The cost of a million tokens (a thousand searches) of each class, one class a request, `perRequest` in each. */
function usdPerMillion(model: string | null, fields: Partial<Usage> = {}, perRequest = 100_000, timestamp = JULY_2026) {
  const cost = (usage: Partial<Usage>) =>
    Math.round((priceOf(model, { ...fields, ...usage }, timestamp).costUsd ?? Number.NaN) * (1e12 / perRequest)) / 1e6;
  return {
    input: cost({ inputTokens: perRequest }),
    output: cost({ outputTokens: perRequest }),
    write5m: cost({ cacheWriteTokens: perRequest, cacheWrite5mTokens: perRequest }),
    write1h: cost({ cacheWriteTokens: perRequest, cacheWrite1hTokens: perRequest }),
    read: cost({ cacheReadTokens: perRequest }),
  };
}

const toRow = (input: number, output: number, write5m: number, read: number) => ({
  input,
  output,
  write5m,
  write1h: input * 2,
  read,
});

describe('list prices', () => {
  it.each([
    ['claude-opus-4-20250514', 15, 75, 18.75, 1.5],
    ['claude-opus-4-1-20250805', 15, 75, 18.75, 1.5],
    ['claude-opus-4-5-20251101', 5, 25, 6.25, 0.5],
    ['claude-opus-4-6', 5, 25, 6.25, 0.5],
    ['claude-opus-4-7', 5, 25, 6.25, 0.5],
    ['claude-opus-4-8', 5, 25, 6.25, 0.5],
    ['claude-opus-5', 5, 25, 6.25, 0.5],
    ['claude-sonnet-4-20250514', 3, 15, 3.75, 0.3],
    ['claude-sonnet-4-5-20250929', 3, 15, 3.75, 0.3],
    ['claude-sonnet-4-6', 3, 15, 3.75, 0.3],
    ['claude-sonnet-5', 2, 10, 2.5, 0.2],
    ['claude-haiku-4-5-20251001', 1, 5, 1.25, 0.1],
  ])('price %s at %d, %d, %d and %d dollars a million', (model, input, output, write5m, read) => {
    expect(usdPerMillion(model)).toEqual(toRow(input, output, write5m, read));
    expect(priceOf(model, { inputTokens: 1 }).basis).toBe('list');
  });

  it('price each request of a response by its own size', () => {
    const cost = (...requests: RequestTokens[]) => {
      const sum = (index: 0 | 1 | 2 | 3 | 4 | 5) => requests.reduce((total, request) => total + request[index], 0);
      const tokens = { inputTokens: sum(0), outputTokens: sum(1), cacheReadTokens: sum(2), cacheWriteTokens: sum(3) };
      const lifetimes = { cacheWrite5mTokens: sum(4), cacheWrite1hTokens: sum(5) };
      return priceOf('claude-sonnet-4-5-20250929', { ...tokens, ...lifetimes, requests }).costUsd;
    };
    expect(cost([150_000, 400, 0, 0, 0, 0], [160_000, 600, 0, 0, 0, 0])).toBe(0.945);
    // One above the band, counting its cache reads and writes, and one below.
    const below = 0.3 + 0.015;
    const above = 0.6 + 0.0225 + 0.036 + 0.480012;
    const mixed = cost([100_000, 1000, 0, 0, 0, 0], [100_000, 1000, 60_000, 40_001, 0, 40_001]);
    expect(mixed).toBeCloseTo(below + above, 10);
    expect(cost([200_001, 0, 0, 0, 0, 0])).toBe(1.200006);
  });

  it.each(['claude-sonnet-4-20250514', 'claude-sonnet-4-5-20250929'])('have a long-context band for %s', (model) => {
    // A request with only output is not long, however much output it has.
    expect(usdPerMillion(model, {}, 200_001)).toEqual(toRow(6, 15, 7.5, 0.6));
    expect(usdPerMillion(model, {}, 200_000)).toEqual(toRow(3, 15, 3.75, 0.3));
    const perOutput = (fields: Partial<Usage>) =>
      priceOf(model, { ...fields, outputTokens: 1_000 }).costs?.output ?? Number.NaN;
    expect(perOutput({ inputTokens: 200_000 })).toBe(0.015);
    expect(perOutput({ inputTokens: 200_001 })).toBe(0.0225);
    expect(perOutput({ inputTokens: 1, cacheReadTokens: 100_000, cacheWriteTokens: 99_999 })).toBe(0.015);
    expect(perOutput({ inputTokens: 1, cacheReadTokens: 100_000, cacheWriteTokens: 100_000 })).toBe(0.0225);
  });

  it.each([
    'claude-opus-4-6',
    'claude-opus-4-7',
    'claude-opus-4-8',
    'claude-opus-5',
    'claude-sonnet-4-6',
    'claude-sonnet-5',
  ])('have no long-context band for %s', (model) => {
    expect(usdPerMillion(model, {}, 900_000)).toEqual(usdPerMillion(model));
  });

  it('depend on the date of the request', () => {
    const long = { inputTokens: 300_000 };
    expect(priceOf('claude-opus-4-6', long, '2026-03-12T23:59:59.999Z').costUsd).toBe(3);
    expect(priceOf('claude-opus-4-6', long, '2026-03-13T00:00:00.000Z').costUsd).toBe(1.5);
    expect(priceOf('claude-opus-4-6', long, null).costUsd).toBe(1.5);
    expect(priceOf('claude-opus-4-6', long, 'no date').costUsd).toBe(1.5);
    expect(priceOf('o3', { inputTokens: 1e6 }, '2025-06-09T23:59:59.999Z').costUsd).toBe(10);
    expect(priceOf('o3', { inputTokens: 1e6 }, '2025-06-10T00:00:00.000Z').costUsd).toBe(2);
  });

  it.each([
    ['gpt-5', 1.25, 10, 0.125],
    ['gpt-5-codex', 1.25, 10, 0.125],
    ['gpt-5.1-codex-max', 1.25, 10, 0.125],
    ['gpt-5.3-codex', 1.75, 14, 0.175],
    ['gemini-2.5-pro', 1.25, 10, 0.125],
    ['grok-4', 3, 15, 0.75],
    ['kimi-k2.6', 0.95, 4, 0.16],
    ['openrouter/z-ai/glm-4.6', 0.43, 1.74, 0.08],
  ])('price %s, its cache writes as input if they have no price', (model, input, output, read) => {
    expect(usdPerMillion(model)).toEqual({ input, output, read, write5m: input, write1h: input });
  });

  it('match what an agent reported of its session', () => {
    const price = priceOf('claude-haiku-4-5-20251001', {
      inputTokens: 368,
      outputTokens: 516,
      cacheReadTokens: 106_786,
      cacheWriteTokens: 9_149,
      cacheWrite1hTokens: 9_149,
    });
    expect(price).toEqual({
      costUsd: 0.0319246,
      costs: { input: 0.000368, output: 0.00258, cacheRead: 0.0106786, cacheWrite: 0.018298, webSearch: 0 },
      basis: 'list',
    });
  });
});

describe('cache writes and searches', () => {
  const cacheWriteUsd = (fields: Partial<Usage>) => priceOf('claude-haiku-4-5', fields).costs?.cacheWrite;

  it('prices unspecified ones as 5-minute writes', () => {
    expect(cacheWriteUsd({ cacheWriteTokens: 1_000 })).toBe(0.00125);
    expect(cacheWriteUsd({ cacheWriteTokens: 1_000, cacheWrite1hTokens: 400 })).toBe(0.00155);
    expect(cacheWriteUsd({ cacheWriteTokens: 1_000, cacheWrite1hTokens: 400, cacheWrite5mTokens: 100 })).toBe(0.00155);
  });

  it('uses the parts if they exceed the whole', () => {
    expect(cacheWriteUsd({ cacheWrite5mTokens: 600, cacheWrite1hTokens: 400 })).toBe(0.00155);
  });

  it('prices searches separately from tokens, whatever the tier', () => {
    const searches = { webSearchRequests: 3, serviceTier: 'batch', inferenceGeo: 'us', speed: 'fast' };
    expect(priceOf('claude-opus-5', searches)).toMatchObject({ costUsd: 0.03, costs: { webSearch: 0.03 } });
    expect(priceOf(null, { webSearchRequests: 3 }).costUsd).toBe(0.03);
  });

  it('does not price a response with searches that have no price', () => {
    expect(priceOf('gemini-2.5-pro', { inputTokens: 10, webSearchRequests: 1 }).basis).toBe('unpriced');
  });
});

describe('multipliers', () => {
  it.each([
    ['claude-opus-4-6', 6],
    ['claude-opus-4-7', 6],
    ['claude-opus-4-8', 2],
    ['claude-opus-5', 2],
  ])('price fast mode of %s at %d times the list', (model, multiplier) => {
    expect(usdPerMillion(model, { speed: 'fast' })).toEqual(
      toRow(5 * multiplier, 25 * multiplier, 6.25 * multiplier, 0.5 * multiplier),
    );
    expect(usdPerMillion(model, { speed: 'standard' })).toEqual(usdPerMillion(model));
  });

  it('leave fast mode unpriced if its price is unknown', () => {
    expect(priceOf('claude-sonnet-5', { inputTokens: 1, speed: 'fast' }).basis).toBe('unpriced');
  });

  it('price inference in the United States at 1.1 times the list, since Opus 4.6', () => {
    expect(usdPerMillion('claude-opus-4-8', { inferenceGeo: 'us' })).toEqual(toRow(5.5, 27.5, 6.875, 0.55));
    expect(usdPerMillion('claude-opus-4-1', { inferenceGeo: 'us' })).toEqual(usdPerMillion('claude-opus-4-1'));
    expect(usdPerMillion('gpt-5', { inferenceGeo: 'us' })).toEqual(usdPerMillion('gpt-5'));
  });

  it.each(['global', 'not_available', '', 'elsewhere'])('price the geography %j as listed', (inferenceGeo) => {
    expect(usdPerMillion('claude-opus-4-8', { inferenceGeo })).toEqual(usdPerMillion('claude-opus-4-8'));
  });

  it('price the batch tier at half, and priority as listed', () => {
    expect(usdPerMillion('claude-haiku-4-5', { serviceTier: 'batch' })).toEqual(toRow(0.5, 2.5, 0.625, 0.05));
    expect(usdPerMillion('claude-haiku-4-5', { serviceTier: 'priority' })).toEqual(usdPerMillion('claude-haiku-4-5'));
  });

  it('are multiplied with one another, and a region only once', () => {
    const fields = { speed: 'fast', inferenceGeo: 'us', serviceTier: 'batch' };
    expect(usdPerMillion('claude-opus-4-8', fields)).toEqual(toRow(5.5, 27.5, 6.875, 0.55));
    expect(usdPerMillion('us.anthropic.claude-opus-4-8', { inferenceGeo: 'us' }).input).toBe(5.5);
  });
});

describe('basis', () => {
  it('prices a response without a model at the default', () => {
    expect(usdPerMillion(null)).toEqual(toRow(3, 15, 3.75, 0.3));
    expect(priceOf(null, { inputTokens: 900_000, speed: 'fast', inferenceGeo: 'us', serviceTier: 'batch' })).toEqual({
      costUsd: 2.7,
      costs: { input: 2.7, output: 0, cacheRead: 0, cacheWrite: 0, webSearch: 0 },
      basis: 'default',
    });
  });

  it.each([
    'claude-foo-99',
    'claude-sonnet-5-6',
    'claude-opus-4-15',
    'claude-opus-4-6-fast',
    'gpt-7',
    'gpt-oss-120b',
    'glm-4.6',
    'kimi-for-coding',
    '<synthetic>',
    'sonnet',
    '',
    'claude-',
    `claude-opus-5${' '.repeat(400)}`,
    '__proto__',
  ])('does not price %j', (model) => {
    expect(priceOf(model, { inputTokens: 1 })).toEqual({ costUsd: null, costs: null, basis: 'unpriced' });
    expect(prices.describeRates(model, null)).toBeNull();
  });

  it('uses the transcript’s own cost for an unknown model, and for no other', () => {
    const usage = createUsage({ inputTokens: 1e6 });
    const price = (model: string | null, reportedCostUsd: number | null) =>
      prices.price({ model, timestamp: null, usage, reportedCostUsd });
    expect(price('glm-4.6', 0.12345678905)).toEqual({ costUsd: 0.1234567891, costs: null, basis: 'reported' });
    expect(price('glm-4.6', 0)).toEqual({ costUsd: 0, costs: null, basis: 'reported' });
    expect(price('claude-haiku-4-5', 7)).toMatchObject({ costUsd: 1, basis: 'list' });
    expect(price(null, 7)).toMatchObject({ costUsd: 3, basis: 'default' });
    for (const invalid of [null, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(price('glm-4.6', invalid).basis).toBe('unpriced');
    }
  });
});

describe('arithmetic', () => {
  const toUnits = (usd: number | undefined | null) => (usd ?? Number.NaN) * COST_UNITS_PER_USD;
  const tokens = fc.nat({ max: 40_000 });
  const anyUsage = fc
    .record({ inputTokens: tokens, outputTokens: tokens, cacheReadTokens: tokens, five: tokens, hour: tokens })
    .map(({ five, hour, ...rest }) =>
      createUsage({ ...rest, cacheWriteTokens: five + hour, cacheWrite5mTokens: five, cacheWrite1hTokens: hour }),
    );
  const anyModel = fc.constantFrom('claude-sonnet-4-5', 'claude-opus-4-8', 'claude-fable-5-1', 'gpt-5', null);

  it('rounds half a unit up, class by class', () => {
    const table = createPriceTable({
      overrides: [{ model: 'm', inputUsdPerMillion: 0.00005, outputUsdPerMillion: 0.00004, cacheReadUsdPerMillion: 0 }],
    });
    const cost = (fields: Partial<Usage>) =>
      Math.round(toUnits(table.price({ model: 'm', timestamp: null, usage: createUsage(fields) }).costUsd));
    expect(cost({ inputTokens: 1 })).toBe(1);
    expect(cost({ inputTokens: 3 })).toBe(2);
    expect(cost({ outputTokens: 1 })).toBe(0);
    expect(cost({ inputTokens: 1, outputTokens: 1 })).toBe(1);
  });

  it('is unaffected by binary fractions of rates', () => {
    for (let units = 0; units < 500; units += 1) {
      const override = { model: 'm', inputUsdPerMillion: (units + 0.5) / 1e4, outputUsdPerMillion: 0 };
      const table = createPriceTable({ overrides: [override] });
      const { costUsd } = table.price({ model: 'm', timestamp: null, usage: createUsage({ inputTokens: 1 }) });
      expect(Math.round(toUnits(costUsd))).toBe(units + 1);
    }
  });

  it('gives whole non-negative units, and classes that add up', () => {
    fc.assert(
      fc.property(
        anyModel,
        anyUsage,
        fc.constantFrom(null, 'us'),
        fc.constantFrom(null, 'batch'),
        (model, usage, inferenceGeo, serviceTier) => {
          const { costUsd, costs } = prices.price({
            model,
            timestamp: JULY_2026,
            usage: { ...usage, inferenceGeo, serviceTier },
          });
          const units = [costs?.input, costs?.output, costs?.cacheRead, costs?.cacheWrite, costs?.webSearch].map(
            toUnits,
          );
          for (const unit of units) {
            expect(unit).toBeGreaterThanOrEqual(0);
            expect(Math.round(unit) / COST_UNITS_PER_USD).toBe(unit / COST_UNITS_PER_USD);
          }
          expect(units.reduce((sum, unit) => sum + Math.round(unit), 0)).toBe(Math.round(toUnits(costUsd)));
        },
      ),
    );
  });

  it('is additive within a band', () => {
    const add = (a: Usage, b: Usage): Usage =>
      createUsage({
        inputTokens: a.inputTokens + b.inputTokens,
        outputTokens: a.outputTokens + b.outputTokens,
        cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
        cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
        cacheWrite5mTokens: a.cacheWrite5mTokens + b.cacheWrite5mTokens,
        cacheWrite1hTokens: a.cacheWrite1hTokens + b.cacheWrite1hTokens,
      });
    const sizeOf = (usage: Usage) => usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
    fc.assert(
      fc.property(anyModel, anyUsage, anyUsage, (model, a, b) => {
        fc.pre(sizeOf(a) + sizeOf(b) <= 200_000);
        const units = (usage: Usage) =>
          Math.round(toUnits(prices.price({ model, timestamp: JULY_2026, usage }).costUsd));
        expect(units(add(a, b))).toBe(units(a) + units(b));
      }),
    );
  });
});

describe('table', () => {
  it('names the installed version of the list', () => {
    const entry = createRequire(import.meta.url).resolve('@pydantic/genai-prices');
    const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', `file://${entry}`), 'utf8'));
    expect(manifest).toHaveProperty('version', /^genai-prices-(.+)-rules-\d+$/.exec(prices.version)?.[1]);
  });

  it('gives the same prices after it has seen more names than it caches', () => {
    const table = createListPrices();
    const usage = createUsage({ inputTokens: 1e6 });
    const price = (model: string) => table.price({ model, timestamp: null, usage }).costUsd;
    expect(price('claude-haiku-4-5')).toBe(1);
    for (let index = 0; index <= MAX_CACHED_MODELS; index += 1) expect(price(`unknown-${index}`)).toBeNull();
    expect(price('claude-haiku-4-5')).toBe(1);
  });

  it('reports what it applied', () => {
    expect(prices.describeRates('us.anthropic.claude-sonnet-4-5-20250929-v1:0', JULY_2026)).toEqual({
      basis: 'list',
      matched: 'claude-sonnet-4-5',
      startsAt: null,
      bands: [
        {
          overInputTokens: -1,
          rates: {
            inputUsdPerMillion: 3,
            outputUsdPerMillion: 15,
            cacheReadUsdPerMillion: 0.3,
            cacheWrite5mUsdPerMillion: 3.75,
            cacheWrite1hUsdPerMillion: 6,
            webSearchUsdPerThousand: 10,
          },
        },
        {
          overInputTokens: 200_000,
          rates: {
            inputUsdPerMillion: 6,
            outputUsdPerMillion: 22.5,
            cacheReadUsdPerMillion: 0.6,
            cacheWrite5mUsdPerMillion: 7.5,
            cacheWrite1hUsdPerMillion: 12,
            webSearchUsdPerThousand: 10,
          },
        },
      ],
      multipliers: { host: 1.1, usInference: 1.1 },
    });
    expect(prices.describeRates('claude-opus-4-6', '2026-05-01T00:00:00Z')).toMatchObject({
      startsAt: '2026-03-13T00:00:00.000Z',
      multipliers: { host: 1, usInference: 1.1 },
    });
    expect(prices.describeRates(null, null)).toMatchObject({ basis: 'default', matched: null });
  });
});
