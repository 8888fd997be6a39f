import { calcPrice, findProvider, type MatchLogic, type ModelInfo, type ModelPrice } from '@pydantic/genai-prices';
import { ADDED_MODELS, type AddedModel } from './added-models.ts';
import { type ModelMaker, type ModelName, parseModelName } from './model-name.ts';
import { type PriceOverride, toOverrideBands } from './price-overrides.ts';
import type { RateBand, RatePeriod, Rates } from './rates.ts';
import { addLongContextBand } from './vendor-rules.ts';

/** Version of the package @pydantic/genai-prices, whose bundled table is the list. */
export const GENAI_PRICES_VERSION = '0.1.8';
/** The day npm published that version; ISO 8601. */
export const GENAI_PRICES_DATE = '2026-09-23';

const NPM_TABLE = { source: `@pydantic/genai-prices ${GENAI_PRICES_VERSION}`, sourceDate: GENAI_PRICES_DATE };
const MAKERS: readonly ModelMaker[] = ['anthropic', 'openai', 'google', 'x-ai', 'moonshotai', 'zai'];

export interface ListedModel {
  /** The list's id of the model; several names may share it. */
  model: string;
  seller: ModelName['seller'];
  /** By ascending start. */
  periods: RatePeriod[];
  /** The model whose rates these are, if it is another one. */
  sameAs?: string;
  /** The publication that states the price, and its date (ISO 8601). */
  source: string;
  sourceDate: string;
}

/** Looks a model up in the list, first in the table of the npm package, then among the additions. */
export function findListedModel(name: ModelName): ListedModel | undefined {
  const found = calcPrice({}, name.name, { providerId: name.seller })?.model;
  if (found === undefined || !isSpelledOut(found.match, name)) return findAddedModel(name);
  const periods = toRatePeriods(found.prices);
  if (periods === undefined) return undefined;
  return { model: found.id, seller: name.seller, periods: addLongContextBand(found.id, periods), ...NPM_TABLE };
}

/**
 * Checks that a table spells the name out, ignoring its release date. Its patterns are prefixes and also match later models
 * (`claude-sonnet-5` matches `claude-sonnet-5-5`).
 */
export function isSpelledOut(match: MatchLogic, { name, baseName }: Pick<ModelName, 'name' | 'baseName'>): boolean {
  return toSpelledOutNames(match).some((known) => known === name || known === baseName);
}

function findAddedModel(name: ModelName): ListedModel | undefined {
  const added = ADDED_MODELS.find((candidate) => isNamedSo(candidate, name));
  if (added === undefined) return undefined;
  const { seller, source, sourceDate, priced } = added;
  if (!('as' in priced)) return { model: added.model, seller, periods: priced, source, sourceDate };
  const same = parseModelName(priced.as);
  const listed = same === undefined ? undefined : findListedModel(same);
  if (listed === undefined) return undefined;
  const { periods, model: sameAs } = listed;
  return { model: added.model, seller, periods, sameAs, source: `${source}; as ${sameAs}`, sourceDate };
}

function isNamedSo({ model, seller, names = [] }: AddedModel, { seller: wanted, name, baseName }: ModelName): boolean {
  return seller === wanted && [model, ...names].some((known) => known === name || known === baseName);
}

/** Every model that can be priced, by maker, with its id in the list and in the list's order. Takes milliseconds. */
export function listKnownModels(): ListedModel[] {
  return MAKERS.flatMap((maker) => {
    const ids = (findProvider({ providerId: maker })?.models ?? []).map(({ id }) => id);
    const known = ids.flatMap((id) => {
      const name = parseModelName(id);
      const listed = name?.seller === maker ? findListedModel(name) : undefined;
      return listed?.model === id ? [listed] : [];
    });
    const added = ADDED_MODELS.filter(({ seller }) => seller === maker).flatMap(({ model }) => {
      const name = parseModelName(model);
      const listed = name === undefined ? undefined : findListedModel(name);
      return listed === undefined ? [] : [listed];
    });
    return [...known, ...added];
  });
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
  return Object.values(match).map((name) => name.toLowerCase());
}

/** Undefined for models that are not billed by tokens, that are free, or whose price depends on the time of day. */
export function toRatePeriods(prices: ModelInfo['prices']): RatePeriod[] | undefined {
  const periods: RatePeriod[] = [];
  for (const { constraint, prices: rates } of Array.isArray(prices) ? prices : [{ prices }]) {
    if (constraint !== undefined && !('start_date' in constraint)) return undefined;
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
 * A cache class without its own price is charged like the class it is a variant of. One-hour writes like writes, writes
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
