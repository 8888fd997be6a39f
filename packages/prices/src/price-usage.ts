import { COST_UNITS_PER_USD, type Price, type RequestTokens, type Usage } from '@recount/core';
import type { RateBand, Rates } from './rates.ts';

/** In units of 1e-10 dollars for one token or one search. */
interface UnitRates {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite5m: number;
  cacheWrite1h: number;
  webSearch: number | null;
}

/** Bands with their rates converted to units. */
export type UnitBand = { overInputTokens: number; rates: UnitRates };

export function toUnitBands(bands: readonly RateBand[]): UnitBand[] {
  return bands.map(({ overInputTokens, rates }) => ({ overInputTokens, rates: toUnitRates(rates) }));
}

/**
 * Cost of one API response, whose requests each have the band of their size. `multiplier` applies to tokens, not to
 * searches. Each class is rounded half up to a unit. Cache writes of unknown duration count as 5-minute ones. Null if
 * there were searches and they have no price.
 */
export function priceUsage(usage: Usage, bands: readonly UnitBand[], multiplier: number): Omit<Price, 'basis'> | null {
  const groups = groupByBand(usage, bands);
  const [first] = groups;
  if (first === undefined) return null;
  const { webSearch: searchRate } = first.rates;
  if (searchRate === null && usage.webSearchRequests > 0) return null;
  const sum = (toCost: (group: BandTokens, rateOf: (rate: number) => number) => number): number =>
    Math.round(groups.reduce((total, group) => total + toCost(group, (rate) => scale(rate, multiplier)), 0));
  const input = sum(({ tokens, rates }, rateOf) => tokens[0] * rateOf(rates.input));
  const output = sum(({ tokens, rates }, rateOf) => tokens[1] * rateOf(rates.output));
  const cacheRead = sum(({ tokens, rates }, rateOf) => tokens[2] * rateOf(rates.cacheRead));
  const cacheWrite = sum(
    ({ tokens: [, , , writes, , writes1h], rates }, rateOf) =>
      (writes - writes1h) * rateOf(rates.cacheWrite5m) + writes1h * rateOf(rates.cacheWrite1h),
  );
  const webSearch = Math.round(usage.webSearchRequests * (searchRate ?? 0));
  return {
    costUsd: (input + output + cacheRead + cacheWrite + webSearch) / COST_UNITS_PER_USD,
    costs: {
      input: input / COST_UNITS_PER_USD,
      output: output / COST_UNITS_PER_USD,
      cacheRead: cacheRead / COST_UNITS_PER_USD,
      cacheWrite: cacheWrite / COST_UNITS_PER_USD,
      webSearch: webSearch / COST_UNITS_PER_USD,
    },
  };
}

/** Tokens of the requests that have the same rates. */
interface BandTokens {
  rates: UnitRates;
  tokens: RequestTokens;
}

/** One group for most responses; none if a request has no band. */
function groupByBand(usage: Usage, bands: readonly UnitBand[]): BandTokens[] {
  const whole = toWholeTokens(usage);
  const groups = new Map<UnitRates, RequestTokens>();
  for (const request of usage.requests ?? [whole]) {
    const rates = findBand(bands, request[0] + request[2] + request[3]);
    if (rates === undefined) return [];
    const tokens = groups.get(rates);
    groups.set(rates, tokens === undefined ? request : addTokens(tokens, request));
  }
  // The sum of requests is exactly the whole, whichever way its cache writes are stated.
  if (groups.size === 1) return [...groups.keys()].map((rates) => ({ rates, tokens: whole }));
  return [...groups].map(([rates, tokens]) => ({ rates, tokens }));
}

function toWholeTokens(usage: Usage): RequestTokens {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens } = usage;
  const cacheWriteTokens = Math.max(usage.cacheWriteTokens, cacheWrite5mTokens + cacheWrite1hTokens);
  return [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite5mTokens, cacheWrite1hTokens];
}

const addTokens = (one: RequestTokens, other: RequestTokens): RequestTokens =>
  one.map((tokens, index) => tokens + (other[index] ?? 0)) as unknown as RequestTokens;

function findBand(bands: readonly UnitBand[], inputTokens: number): UnitRates | undefined {
  return bands.findLast((band) => inputTokens > band.overInputTokens)?.rates;
}

function toUnitRates(rates: Rates): UnitRates {
  const perToken = (usdPerMillion: number) => snap((usdPerMillion * COST_UNITS_PER_USD) / 1e6);
  return {
    input: perToken(rates.inputUsdPerMillion),
    output: perToken(rates.outputUsdPerMillion),
    cacheRead: perToken(rates.cacheReadUsdPerMillion),
    cacheWrite5m: perToken(rates.cacheWrite5mUsdPerMillion),
    cacheWrite1h: perToken(rates.cacheWrite1hUsdPerMillion),
    webSearch:
      rates.webSearchUsdPerThousand === null ? null : snap((rates.webSearchUsdPerThousand * COST_UNITS_PER_USD) / 1e3),
  };
}

function scale(rate: number, multiplier: number): number {
  return multiplier === 1 ? rate : snap(rate * multiplier);
}

/** Removes the error of binary fractions: 0.07 * 1e4 is 700.0000000000001, 5e4 * 1.1 is 55000.00000000001. */
function snap(rate: number): number {
  return Math.round(rate * 1e3) / 1e3;
}
