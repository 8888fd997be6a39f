import { COST_UNITS_PER_USD, type CostByClass, type PriceBasis } from '../records/rows.ts';
import type { Usage } from '../records/usage.ts';

export interface PriceQuery {
  /** As the transcript names it; null if it names none. */
  model: string | null;
  /** Time of the API response, because prices change over time. */
  timestamp: string | null;
  usage: Usage;
  /** The cost of the response according to the transcript; used if the table has no price. */
  reportedCostUsd?: number | null;
}

export interface Price {
  /** US dollars, a multiple of 1e-10; null if `basis` is `unpriced`. */
  costUsd: number | null;
  /** Adds up to `costUsd`; null if `basis` is `unpriced` or `reported`. */
  costs: CostByClass | null;
  basis: PriceBasis;
}

/** Prices usage by model, date and token class. Pure. The same query gives the same price. */
export interface PriceTable {
  /** Stored with the prices, to tell them from later tables. */
  version: string;
  price(query: PriceQuery): Price;
}

/** US dollars per million tokens, which is the list price of the Sonnet models, the most used ones in Claude Code. */
const USD_PER_MILLION = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

const UNITS_PER_TOKEN = {
  input: toUnitsPerToken(USD_PER_MILLION.input),
  output: toUnitsPerToken(USD_PER_MILLION.output),
  cacheRead: toUnitsPerToken(USD_PER_MILLION.cacheRead),
  cacheWrite: toUnitsPerToken(USD_PER_MILLION.cacheWrite),
};

function toUnitsPerToken(usdPerMillion: number): number {
  return Math.round((usdPerMillion * COST_UNITS_PER_USD) / 1e6);
}

/** One rate for every model and date, and none for web searches. It is an estimate, marked by its basis `default`. */
export const flatDefaultPrices: PriceTable = {
  version: 'flat-default-1',
  price({ usage }) {
    const input = usage.inputTokens * UNITS_PER_TOKEN.input;
    const output = usage.outputTokens * UNITS_PER_TOKEN.output;
    const cacheRead = usage.cacheReadTokens * UNITS_PER_TOKEN.cacheRead;
    const cacheWrite = usage.cacheWriteTokens * UNITS_PER_TOKEN.cacheWrite;
    return {
      costUsd: (input + output + cacheRead + cacheWrite) / COST_UNITS_PER_USD,
      costs: {
        input: input / COST_UNITS_PER_USD,
        output: output / COST_UNITS_PER_USD,
        cacheRead: cacheRead / COST_UNITS_PER_USD,
        cacheWrite: cacheWrite / COST_UNITS_PER_USD,
        webSearch: 0,
      },
      basis: 'default',
    };
  },
};
