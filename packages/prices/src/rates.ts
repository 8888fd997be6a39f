/** List price of one model within one band of request sizes, in US dollars. */
export interface Rates {
  inputUsdPerMillion: number;
  outputUsdPerMillion: number;
  cacheReadUsdPerMillion: number;
  cacheWrite5mUsdPerMillion: number;
  cacheWrite1hUsdPerMillion: number;
  /** Null where no price is known. */
  webSearchUsdPerThousand: number | null;
}

/** Rates of the whole request, all classes, when its input, cache reads and cache writes together exceed a size. */
export interface RateBand {
  /** The band of all other requests has -1. */
  overInputTokens: number;
  rates: Rates;
}

/** Rates from one date on. */
export interface RatePeriod {
  /** ISO 8601 in UTC with milliseconds; null for the first, which has no beginning. */
  startsAt: string | null;
  /** At least one, by rising `overInputTokens`. */
  bands: RateBand[];
}

/** Per million tokens: what is charged where a transcript names no model (those of the Sonnet models). */
export const DEFAULT_RATES: Rates = {
  inputUsdPerMillion: 3,
  outputUsdPerMillion: 15,
  cacheReadUsdPerMillion: 0.3,
  cacheWrite5mUsdPerMillion: 3.75,
  cacheWrite1hUsdPerMillion: 6,
  webSearchUsdPerThousand: 10,
};
