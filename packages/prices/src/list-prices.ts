import { calcPrice, findProvider, type MatchLogic, type ModelInfo, type ModelPrice } from '@pydantic/genai-prices';
import { type ModelMaker, type ModelName, parseModelName } from './model-name.ts';
import { type PriceOverride, toOverrideBands } from './price-overrides.ts';
import type { RateBand, RatePeriod, Rates } from './rates.ts';
import { addLongContextBand } from './vendor-rules.ts';

/** Version of the package @pydantic/genai-prices, whose bundled table is the list. */
export const GENAI_PRICES_VERSION = '0.1.8';

const MAKERS: readonly ModelMaker[] = ['anthropic', 'openai', 'google', 'x-ai', 'moonshotai'];

export interface ListedModel {
  /** The list's id of the model; several names may share it. */
  model: string;
  seller: ModelName['seller'];
  /** By ascending start. */
  periods: RatePeriod[];
}

/**
 * Looks a model up in the list. The list's patterns are prefixes and also match later models (`claude-sonnet-5` matches
 * `claude-sonnet-5-5`): a name counts only if the list spells it out, ignoring its release date.
 */
export function findListedModel(name: ModelName): ListedModel | undefined {
  const found = calcPrice({}, name.name, { providerId: name.seller })?.model;
  if (found === undefined) return undefined;
  const spelledOut = toSpelledOutNames(found.match);
  if (!spelledOut.includes(name.name) && !spelledOut.includes(name.baseName)) return undefined;
  const periods = toRatePeriods(found.prices);
  if (periods === undefined) return undefined;
  return { model: found.id, seller: name.seller, periods: addLongContextBand(found.id, periods) };
}

/** Every model that can be priced, by maker, with its id in the list and in the list's order. Takes milliseconds. */
export function listKnownModels(): ListedModel[] {
  return MAKERS.flatMap((maker) =>
    (findProvider({ providerId: maker })?.models ?? []).flatMap((model) => {
      const name = parseModelName(model.id);
      const listed = name?.seller === maker ? findListedModel(name) : undefined;
      return listed?.model === model.id ? [listed] : [];
    }),
  );
}

/** Request sizes, in input tokens, above which any model of the list or the overrides has other rates; ascending. */
export function listRequestSizes(overrides: readonly PriceOverride[]): number[] {
  const listed = listKnownModels().flatMap(({ periods }) => periods.flatMap(({ bands }) => bands));
  const sizes = [...listed, ...overrides.flatMap(toOverrideBands)].map(({ overInputTokens }) => overInputTokens);
  return [...new Set(sizes)].filter((size) => size >= 0).sort((a, b) => a - b);
}

function toSpelledOutNames(match: MatchLogic): string[] {
  if ('or' in match) return match.or.flatMap(toSpelledOutNames);
  if ('and' in match) return match.and.flatMap(toSpelledOutNames);
  if ('regex' in match) return [];
  return Object.values(match);
}

/** Undefined for models that are not billed by tokens, that are free, or whose price depends on the time of day. */
export function toRatePeriods(prices: ModelInfo['prices']): RatePeriod[] | undefined {
  const periods: RatePeriod[] = [];
  for (const { constraint, prices: rates } of Array.isArray(prices) ? prices : [{ prices }]) {
    if (constraint !== undefined && constraint.type !== 'start_date') return undefined;
    const bands = toRateBands(rates);
    if (bands === undefined) return undefined;
    const isFirst = periods.length === 0;
    periods.push({
      startsAt: constraint === undefined || isFirst ? null : new Date(constraint.start_date).toISOString(),
      bands,
    });
  }
  return periods;
}

function toRateBands(price: ModelPrice): RateBand[] | undefined {
  const starts = new Set([-1]);
  for (const value of Object.values(price)) {
    if (typeof value === 'object') for (const tier of value.tiers) starts.add(tier.start);
  }
  const bands: RateBand[] = [];
  for (const overInputTokens of [...starts].sort((a, b) => a - b)) {
    const rates = toRates(price, overInputTokens);
    if (rates === undefined) return undefined;
    bands.push({ overInputTokens, rates });
  }
  return bands;
}

/**
 * A cache class without its own price is charged like the class it is a variant of: one-hour writes like writes, writes
 * and reads like input.
 */
function toRates(price: ModelPrice, overInputTokens: number): Rates | undefined {
  const read = (key: string): number | undefined => {
    const value = price[key];
    if (typeof value !== 'object') return value;
    return value.tiers.findLast((tier) => tier.start <= overInputTokens)?.price ?? value.base;
  };
  const input = read('input_mtok');
  const output = read('output_mtok');
  if (input === undefined || output === undefined) return undefined;
  const cacheWrite = read('cache_write_mtok') ?? input;
  return {
    inputUsdPerMillion: input,
    outputUsdPerMillion: output,
    cacheReadUsdPerMillion: read('cache_read_mtok') ?? input,
    cacheWrite5mUsdPerMillion: cacheWrite,
    cacheWrite1hUsdPerMillion: read('cache_write_1h_mtok') ?? cacheWrite,
    webSearchUsdPerThousand: read('web_searches_kcount') ?? null,
  };
}
