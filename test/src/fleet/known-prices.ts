import type { CostUnits, PlannedUsage, ResponseFact } from './facts.ts';

/** In units of 1e-10 US dollars for one token: $1 a million is 10,000 of them. */
interface UnitRates {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite5m: number;
  cacheWrite1h: number;
}

const SONNET: UnitRates = {
  input: 30_000,
  output: 150_000,
  cacheRead: 3_000,
  cacheWrite5m: 37_500,
  cacheWrite1h: 60_000,
};
const SONNET_LONG: UnitRates = {
  input: 60_000,
  output: 225_000,
  cacheRead: 6_000,
  cacheWrite5m: 75_000,
  cacheWrite1h: 120_000,
};
const OPUS: UnitRates = {
  input: 50_000,
  output: 250_000,
  cacheRead: 5_000,
  cacheWrite5m: 62_500,
  cacheWrite1h: 100_000,
};
const HAIKU: UnitRates = {
  input: 10_000,
  output: 50_000,
  cacheRead: 1_000,
  cacheWrite5m: 12_500,
  cacheWrite1h: 20_000,
};
const UNITS_PER_SEARCH = 100_000_000;
const LONG_CONTEXT_TOKENS = 200_000;

export const SONNET_MODEL = 'claude-sonnet-4-5-20250929';
export const OPUS_MODEL = 'claude-opus-4-5-20251101';
export const HAIKU_MODEL = 'claude-haiku-4-5-20251001';
export const UNKNOWN_MODEL = 'claude-unheard-of-1';

/** A response's cost at the vendor's list prices, which are written here by hand. */
export function priceByHand(model: string | null, usage: PlannedUsage): Pick<ResponseFact, 'costs' | 'basis'> {
  if (model === UNKNOWN_MODEL) return { costs: null, basis: 'unpriced' };
  return { costs: toCosts(toRates(model, usage), usage), basis: model === null ? 'default' : 'list' };
}

function toRates(model: string | null, usage: PlannedUsage): UnitRates {
  const wholeInput = usage.input + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h;
  switch (model) {
    case null:
      return SONNET;
    case SONNET_MODEL:
      return wholeInput > LONG_CONTEXT_TOKENS ? SONNET_LONG : SONNET;
    case OPUS_MODEL:
      return OPUS;
    case HAIKU_MODEL:
      return HAIKU;
    default:
      throw new Error(`no price was written down for ${model}`);
  }
}

function toCosts(rates: UnitRates, usage: PlannedUsage): CostUnits {
  return {
    input: usage.input * rates.input,
    output: usage.output * rates.output,
    cacheRead: usage.cacheRead * rates.cacheRead,
    cacheWrite: usage.cacheWrite5m * rates.cacheWrite5m + usage.cacheWrite1h * rates.cacheWrite1h,
    webSearch: usage.webSearches * UNITS_PER_SEARCH,
  };
}
