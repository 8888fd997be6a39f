import { COST_UNITS_PER_USD, type Price, type Usage } from '@recount/core';
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
 * Cost of one API response. `multiplier` applies to tokens, not to searches. Each class is rounded half up to a unit.
 * Cache writes of unknown duration count as 5-minute ones. Null if there were searches and they have no price.
 */
export function priceUsage(usage: Usage, bands: readonly UnitBand[], multiplier: number): Omit<Price, 'basis'> | null {
  const cacheWriteTokens = Math.max(usage.cacheWriteTokens, usage.cacheWrite5mTokens + usage.cacheWrite1hTokens);
  const rates = findBand(bands, usage.inputTokens + usage.cacheReadTokens + cacheWriteTokens);
  if (rates === undefined) return null;
  if (rates.webSearch === null && usage.webSearchRequests > 0) return null;
  const input = Math.round(usage.inputTokens * scale(rates.input, multiplier));
  const output = Math.round(usage.outputTokens * scale(rates.output, multiplier));
  const cacheRead = Math.round(usage.cacheReadTokens * scale(rates.cacheRead, multiplier));
  const cacheWrite = Math.round(
    (cacheWriteTokens - usage.cacheWrite1hTokens) * scale(rates.cacheWrite5m, multiplier) +
      usage.cacheWrite1hTokens * scale(rates.cacheWrite1h, multiplier),
  );
  const webSearch = Math.round(usage.webSearchRequests * (rates.webSearch ?? 0));
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
