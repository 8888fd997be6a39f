import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_PRICE_OVERRIDE_ISSUES, MAX_PRICE_OVERRIDES, parsePriceOverrides } from './parse-price-overrides.ts';

const RATES = { inputUsdPerMillion: 1, outputUsdPerMillion: 2 };

function issuesOf(value: unknown): string[] {
  const parsed = parsePriceOverrides(value);
  return 'issues' in parsed ? parsed.issues.map(({ path, message }) => `${path}: ${message}`) : [];
}

describe('parsePriceOverrides', () => {
  it('accepts valid overrides unchanged, with dates in UTC', () => {
    const full = {
      model: 'glm-*',
      startsAt: '2026-02-01T00:00:00+01:00',
      ...RATES,
      cacheReadUsdPerMillion: 0,
      cacheWrite5mUsdPerMillion: 0.5,
      cacheWrite1hUsdPerMillion: 0.75,
      webSearchUsdPerThousand: 5,
      longContext: { thresholdTokens: 128_000, ...RATES, cacheReadUsdPerMillion: 0.25 },
    };
    expect(parsePriceOverrides([full, { model: 'm', ...RATES }])).toEqual({
      overrides: [
        { ...full, startsAt: '2026-01-31T23:00:00.000Z' },
        { model: 'm', ...RATES },
      ],
    });
    expect(parsePriceOverrides([])).toEqual({ overrides: [] });
  });

  it('reports what is missing, unknown or out of range, and where', () => {
    expect(issuesOf({})).toEqual([': must be an array of overrides']);
    expect(issuesOf([null, { model: 'm', ...RATES }])).toEqual(['[0]: must be an object']);
    expect(issuesOf([{ model: 'm' }])).toEqual([
      '[0].inputUsdPerMillion: is missing',
      '[0].outputUsdPerMillion: is missing',
    ]);
    expect(issuesOf([{ model: 'm', ...RATES, inputUsd: 3 }])).toEqual([
      expect.stringMatching(/^\[0\]\.inputUsd: is unknown; the fields are model, startsAt, /),
    ]);
    expect(
      issuesOf([{ model: 'm', ...RATES, longContext: { inputUsdPerMillion: 1, thresholdTokens: 0.5, model: 'x' } }]),
    ).toEqual([
      expect.stringContaining('[0].longContext.model: is unknown'),
      '[0].longContext.outputUsdPerMillion: is missing',
      '[0].longContext.thresholdTokens: must be a whole number of tokens, at least 1',
    ]);
  });

  it.each([-0.1, 10_001, Number.NaN, Number.POSITIVE_INFINITY, '3', null])('refuses a rate of %j', (rate) => {
    for (const field of ['inputUsdPerMillion', 'cacheReadUsdPerMillion', 'webSearchUsdPerThousand']) {
      expect(issuesOf([{ model: 'm', ...RATES, [field]: rate }])).toEqual([
        `[0].${field}: must be a number of US dollars from 0 to 10000`,
      ]);
    }
  });

  it.each([0, -1, 0.5, '128000', undefined])('refuses the threshold %j', (thresholdTokens) => {
    expect(issuesOf([{ model: 'm', ...RATES, longContext: { ...RATES, thresholdTokens } }])).toEqual([
      '[0].longContext.thresholdTokens: must be a whole number of tokens, at least 1',
    ]);
  });

  it.each(['', ' m', 'm ', '*m', 'a*b', 'a**', 7, undefined, 'm'.repeat(257)])('refuses the model %j', (model) => {
    expect(issuesOf([{ model, ...RATES }])).toEqual([expect.stringMatching(/^\[0\]\.model: /)]);
  });

  it.each([
    '2026-02-30',
    '2026-13-01',
    '2026-01-01T00:00:00',
    '2026-01-01T25:00:00Z',
    '2026-01-01T24:00:00Z',
    '1 January 2026',
    1_767_225_600_000,
    null,
  ])('refuses the start %j', (startsAt) => {
    expect(issuesOf([{ model: 'm', startsAt, ...RATES }])).toEqual([expect.stringMatching(/^\[0\]\.startsAt: /)]);
  });

  it('refuses names with control characters, which Postgres could not store', () => {
    const rates = { inputUsdPerMillion: 1, outputUsdPerMillion: 1 };
    for (const model of ['a\0b', 'a\nb', '\ud800']) {
      expect(parsePriceOverrides([{ model, ...rates }])).toMatchObject({ issues: [{ path: '[0].model' }] });
    }
  });

  it('refuses two prices of one model with the same start', () => {
    const at = (startsAt: string) => ({ model: 'm', startsAt, ...RATES });
    expect(issuesOf([at('2026-01-01'), at('2026-01-02'), { ...at('2026-01-01T00:00Z'), model: 'M' }])).toEqual([
      '[2]: has the model and start of [0]',
    ]);
  });

  it('bounds its input and its messages', () => {
    const many = (count: number, value: unknown) => Array.from({ length: count }, () => value);
    expect(issuesOf(many(MAX_PRICE_OVERRIDES + 1, null))).toEqual([': must hold at most 1000 overrides']);
    expect(issuesOf(many(MAX_PRICE_OVERRIDES, null))).toHaveLength(MAX_PRICE_OVERRIDE_ISSUES);
  });

  it('never throws, and returns nothing if there is an issue', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.anything(), fc.constant({ model: 'm', ...RATES }))), (value) => {
        const parsed = parsePriceOverrides(value);
        if ('overrides' in parsed) expect(parsed.overrides).toHaveLength(value.length);
        else expect(parsed.issues.length).toBeGreaterThan(0);
      }),
    );
  });
});
