import { createHash } from 'node:crypto';
import type { RateBand, Rates } from './rates.ts';

/** US dollars per million tokens. A missing cache class costs its usual multiple of the input: 0.1, 1.25, 2. */
export interface OverrideRates {
  inputUsdPerMillion: number;
  outputUsdPerMillion: number;
  cacheReadUsdPerMillion?: number;
  cacheWrite5mUsdPerMillion?: number;
  cacheWrite1hUsdPerMillion?: number;
}

/** A workspace's own price for a model, listed or not. */
export interface PriceOverride extends OverrideRates {
  /** The name as in transcripts, ignoring case; a trailing `*` matches every name that begins this way. */
  model: string;
  /** ISO 8601; in force from then on. Defaults to always. */
  startsAt?: string;
  /** Default: 10. */
  webSearchUsdPerThousand?: number;
  /** Applies to the whole request if its input, cache reads and cache writes together exceed the threshold. */
  longContext?: OverrideRates & { thresholdTokens: number };
}

const USUAL_CACHE_READ = 0.1;
const USUAL_CACHE_WRITE_5M = 1.25;
const USUAL_CACHE_WRITE_1H = 2;
const USUAL_WEB_SEARCH_USD_PER_THOUSAND = 10;

/** By ascending `overInputTokens`. */
export function toOverrideBands(override: PriceOverride): RateBand[] {
  const webSearch = override.webSearchUsdPerThousand ?? USUAL_WEB_SEARCH_USD_PER_THOUSAND;
  const bands = [{ overInputTokens: -1, rates: toRates(override, webSearch) }];
  const { longContext } = override;
  if (longContext !== undefined) {
    bands.push({ overInputTokens: longContext.thresholdTokens, rates: toRates(longContext, webSearch) });
  }
  return bands;
}

function toRates(rates: OverrideRates, webSearchUsdPerThousand: number): Rates {
  const input = rates.inputUsdPerMillion;
  return {
    inputUsdPerMillion: input,
    outputUsdPerMillion: rates.outputUsdPerMillion,
    cacheReadUsdPerMillion: rates.cacheReadUsdPerMillion ?? multiply(input, USUAL_CACHE_READ),
    cacheWrite5mUsdPerMillion: rates.cacheWrite5mUsdPerMillion ?? multiply(input, USUAL_CACHE_WRITE_5M),
    cacheWrite1hUsdPerMillion: rates.cacheWrite1hUsdPerMillion ?? multiply(input, USUAL_CACHE_WRITE_1H),
    webSearchUsdPerThousand,
  };
}

/** Rounds to a ten-millionth of a dollar, the smallest difference between rates: 3 * 0.1 is 0.30000000000000004. */
function multiply(usdPerMillion: number, factor: number): number {
  return Math.round(usdPerMillion * factor * 1e7) / 1e7;
}

/** True if `pattern`, an override's `model`, matches the model, exactly or as a prefix if it ends in `*`. */
export function isNamedBy(pattern: string, model: string): boolean {
  const [name, wanted] = [model.toLowerCase(), pattern.toLowerCase()];
  return wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted;
}

/** Sorts by precedence, with exact names before prefixes, and longer prefixes and later starts first. */
export function compareOverrides(a: PriceOverride, b: PriceOverride): number {
  return toSpecificity(b.model) - toSpecificity(a.model) || toStart(b) - toStart(a);
}

/** Milliseconds since 1970; -Infinity if the override has no start. */
export function toStart(override: PriceOverride): number {
  return override.startsAt === undefined ? Number.NEGATIVE_INFINITY : Date.parse(override.startsAt);
}

/** 12 hexadecimal digits, the same for the same overrides in any order. */
export function hashOverrides(overrides: readonly PriceOverride[]): string {
  const lines = overrides.map(toCanonicalJson).sort();
  return createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 12);
}

function toSpecificity(pattern: string): number {
  return pattern.endsWith('*') ? pattern.length - 1 : Number.POSITIVE_INFINITY;
}

function toCanonicalJson(override: PriceOverride): string {
  const canonical = {
    ...override,
    model: override.model.toLowerCase(),
    ...(override.startsAt === undefined ? {} : { startsAt: new Date(override.startsAt).toISOString() }),
  };
  return JSON.stringify(canonical, (_key, value: unknown) =>
    typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).sort()) : value,
  );
}
