/** List price of one model within one range of request sizes, in US dollars. */
export interface Rates {
  inputUsdPerMillion: number;
  outputUsdPerMillion: number;
  cacheReadUsdPerMillion: number;
  cacheWrite5mUsdPerMillion: number;
  cacheWrite1hUsdPerMillion: number;
  /** Null if no price is available. */
  webSearchUsdPerThousand: number | null;
}

/** Rates of a whole request, for all classes, if its input, cache reads and cache writes together exceed a size. */
export interface RateBand {
  /** -1 for the band of all other requests. */
  overInputTokens: number;
  rates: Rates;
}

/** Rates from one date on. */
export interface RatePeriod {
  /** ISO 8601 in UTC with milliseconds; null for the first one, which has no start. */
  startsAt: string | null;
  /** At least one, by ascending `overInputTokens`. */
  bands: RateBand[];
}

/** Per million tokens, for a transcript that names no model (the rates of the Sonnet models). */
export const DEFAULT_RATES: Rates = {
  inputUsdPerMillion: 3,
  outputUsdPerMillion: 15,
  cacheReadUsdPerMillion: 0.3,
  cacheWrite5mUsdPerMillion: 3.75,
  cacheWrite1hUsdPerMillion: 6,
  webSearchUsdPerThousand: 10,
};
