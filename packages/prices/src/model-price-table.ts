import { COST_UNITS_PER_USD, type Price, type PriceQuery, type PriceTable } from '@recount/core';
import { findListedModel, GENAI_PRICES_DATE, GENAI_PRICES_VERSION, type ListedModel } from './list-prices.ts';
import { type ModelName, parseModelName } from './model-name.ts';
import type { PriceFile } from './price-file.ts';
import {
  compareOverrides,
  hashOverrides,
  isNamedBy,
  type PriceOverride,
  toOverrideBands,
  toStart,
} from './price-overrides.ts';
import { priceUsage, toUnitBands, type UnitBand } from './price-usage.ts';
import { DEFAULT_RATES, type RateBand } from './rates.ts';
import { findFactor, SERVICE_TIERS, SPEEDS, type TierQuery } from './tier-rules.ts';
import { toRegionalHostMultiplier, toRegionMultiplier, VENDOR_RULES_VERSION } from './vendor-rules.ts';

/** Models whose resolved rates are cached; a workspace uses a few dozen. */
export const MAX_CACHED_MODELS = 256;
/** No model's name is longer. */
const MAX_MODEL_NAME_CHARACTERS = 256;

/** Factors for all rates except searches; factors of tiers and speeds are in `tier-rules.ts`. */
interface Multipliers {
  /** For every request, depending on the model's name: 1.1 for regional Bedrock profiles, else 1. */
  host: number;
  /** Inference bound to the United States (`inference_geo` of `us`); replaces `host` if that is lower. */
  usInference: number;
}

/** The reason why a response has no price. `name` is as the transcript has it. */
export type UnpricedReason =
  | { kind: 'model' | 'web-search' }
  | { kind: 'service-tier'; name: string }
  | { kind: 'speed'; name: string };

/** The pricing of a model's requests at a given time. */
interface AppliedRates {
  basis: 'list' | 'default' | 'override';
  /** Id in the list, or the override's `model`; null for the default. */
  matched: string | null;
  /** Start of these rates, ISO 8601 in UTC; null if they have none. */
  startsAt: string | null;
  /** At least one, by ascending `overInputTokens`; the last one that a request exceeds applies to the whole request. */
  bands: RateBand[];
  multipliers: Multipliers;
}

export interface ModelPriceTable extends PriceTable {
  /** The model whose `price` applies; null for a model without a price. Without a timestamp, the latest rates apply. */
  describeRates(model: string | null, timestamp: string | null): AppliedRates | null;
  /** The reason why `price` gives no price; null if it gives one. */
  explainUnpriced(query: PriceQuery): UnpricedReason | null;
  /** The day of the newest of its lists, ISO 8601: the price file, or else the npm table. */
  date: string;
}

interface DatedRates extends Omit<AppliedRates, 'multipliers'> {
  startsAtMs: number;
  unitBands: UnitBand[];
}

interface ModelRates {
  /** In the order of trial. The first one that had started by the request's time applies. */
  candidates: DatedRates[];
  isDated: boolean;
  multipliers: Record<AppliedRates['basis'], Multipliers>;
  /** The vendor of the tiers and speeds. */
  seller: ModelName['seller'] | undefined;
  /** Id in the list, or the name. */
  id: string;
}

const ALWAYS = Number.NEGATIVE_INFINITY;
const UNPRICED: Price = { costUsd: null, costs: null, basis: 'unpriced' };
const NO_MULTIPLIERS: Multipliers = { host: 1, usInference: 1 };
const LIST_VERSION = `genai-prices-${GENAI_PRICES_VERSION}-rules-${VENDOR_RULES_VERSION}`;

/** The makers' list prices, by model and date. */
export function createListPrices(): ModelPriceTable {
  return createPriceTable({ overrides: [] });
}

/**
 * List prices, preceded by a price file's, preceded by a workspace's own. Of the overrides (as returned by
 * `parsePriceOverrides`) that name a model and have started, the most specific applies, then the latest. The vendor's
 * factors for tiers, speeds and inference geography also apply to overrides; there, unknown ones are 1.
 */
export function createPriceTable({
  overrides,
  file,
}: {
  overrides: readonly PriceOverride[];
  file?: PriceFile | undefined;
}): ModelPriceTable {
  const cache = new Map<string, ModelRates>();
  const defaultRates = toDefaultRates();
  const overrideRates = overrides.toSorted(compareOverrides).map(toOverrideRates);

  const resolve = (model: string | null): ModelRates | undefined => {
    if (model === null) return defaultRates;
    const cached = cache.get(model);
    if (cached !== undefined) return cached;
    if (model.length > MAX_MODEL_NAME_CHARACTERS) return undefined;
    if (cache.size >= MAX_CACHED_MODELS) cache.clear();
    const resolved = resolveModel(model, overrideRates, file);
    cache.set(model, resolved);
    return resolved;
  };

  const parts = [LIST_VERSION, file?.version, overrides.length === 0 ? undefined : hashOverrides(overrides)];
  return {
    version: parts.filter((part) => part !== undefined).join('+'),
    date: [GENAI_PRICES_DATE, file?.date ?? ''].sort().at(-1) ?? GENAI_PRICES_DATE,
    explainUnpriced(query) {
      const model = resolve(query.model);
      if (model !== undefined && applyRates(model, query) !== undefined) return null;
      if (toReportedPrice(query).costUsd !== null) return null;
      const rates = model === undefined ? undefined : selectRates(model, query.timestamp);
      if (model === undefined || rates === undefined) return { kind: 'model' };
      const factors = findFactors(model, rates.basis, query);
      const { serviceTier, speed } = query.usage;
      if (factors.tier === null && serviceTier !== null) return { kind: 'service-tier', name: serviceTier };
      if (factors.speed === null && speed !== null) return { kind: 'speed', name: speed };
      return { kind: 'web-search' };
    },
    price(query) {
      const model = resolve(query.model);
      return (model === undefined ? undefined : applyRates(model, query)) ?? toReportedPrice(query);
    },
    describeRates(name, timestamp) {
      const model = resolve(name);
      const rates = model === undefined ? undefined : selectRates(model, timestamp);
      if (model === undefined || rates === undefined) return null;
      const { basis, matched, startsAt, bands } = rates;
      return { basis, matched, startsAt, bands, multipliers: model.multipliers[basis] };
    },
  };
}

function applyRates(model: ModelRates, query: PriceQuery): Price | undefined {
  const { timestamp, usage } = query;
  const rates = selectRates(model, timestamp);
  if (rates === undefined) return undefined;
  const { tier, speed } = findFactors(model, rates.basis, query);
  if (tier === null || speed === null) return undefined;
  const { host, usInference } = model.multipliers[rates.basis];
  const region = usage.inferenceGeo === 'us' ? Math.max(host, usInference) : host;
  const cost = priceUsage(usage, rates.unitBands, region * tier * speed);
  return cost === null ? undefined : { costUsd: cost.costUsd, costs: cost.costs, basis: rates.basis };
}

/** The factors of a response's tier and speed; null means that there is no price. */
function findFactors(
  { seller, id }: ModelRates,
  basis: AppliedRates['basis'],
  { timestamp, usage }: PriceQuery,
): { tier: number | null; speed: number | null } {
  if (basis === 'default' || (usage.serviceTier === null && usage.speed === null)) return { tier: 1, speed: 1 };
  const cacheWriteTokens = Math.max(usage.cacheWriteTokens, usage.cacheWrite5mTokens + usage.cacheWrite1hTokens);
  const query: TierQuery = {
    seller,
    model: id,
    timestamp,
    inputTokens: usage.inputTokens + usage.cacheReadTokens + cacheWriteTokens,
  };
  const tier = findFactor(SERVICE_TIERS, usage.serviceTier, query);
  const speed = findFactor(SPEEDS, usage.speed, query);
  return basis === 'override' ? { tier: tier ?? 1, speed: speed ?? 1 } : { tier, speed };
}

function toReportedPrice({ reportedCostUsd }: PriceQuery): Price {
  if (typeof reportedCostUsd !== 'number' || !Number.isFinite(reportedCostUsd) || reportedCostUsd < 0) return UNPRICED;
  const costUsd = Math.round(reportedCostUsd * COST_UNITS_PER_USD) / COST_UNITS_PER_USD;
  return { costUsd, costs: null, basis: 'reported' };
}

function selectRates({ candidates, isDated }: ModelRates, timestamp: string | null): DatedRates | undefined {
  if (!isDated) return candidates[0];
  const timeMs = timestamp === null ? Number.NaN : Date.parse(timestamp);
  // An unknown time counts as after all starts.
  return candidates.find(({ startsAtMs }) => !(startsAtMs > timeMs));
}

function resolveModel(model: string, overrideRates: readonly DatedRates[], file: PriceFile | undefined): ModelRates {
  const name = parseModelName(model);
  const builtIn = name === undefined ? undefined : findListedModel(name);
  const listed = file?.find(model, builtIn) ?? builtIn;
  const candidates = [
    ...overrideRates.filter(({ matched }) => matched !== null && isNamedBy(matched, model)),
    ...(listed === undefined ? [] : toListedRates(listed)),
  ];
  const id = builtIn?.sameAs ?? builtIn?.model ?? listed?.model ?? name?.baseName ?? model;
  const usInference = listed === undefined ? 1 : toRegionMultiplier(id);
  const host = name?.isRegional && listed !== undefined ? toRegionalHostMultiplier(id) : 1;
  return {
    candidates,
    isDated: candidates.some(({ startsAtMs }) => startsAtMs > ALWAYS),
    multipliers: {
      list: { host, usInference },
      // A workspace's price applies to the name as written, including the host.
      override: { host: 1, usInference },
      default: NO_MULTIPLIERS,
    },
    seller: name?.seller,
    id,
  };
}

function toListedRates({ model, periods }: Pick<ListedModel, 'model' | 'periods'>): DatedRates[] {
  return periods.toReversed().map(({ startsAt, bands }) => ({
    basis: 'list',
    matched: model,
    startsAt,
    startsAtMs: startsAt === null ? ALWAYS : Date.parse(startsAt),
    bands,
    unitBands: toUnitBands(bands),
  }));
}

function toOverrideRates(override: PriceOverride): DatedRates {
  const bands = toOverrideBands(override);
  return {
    basis: 'override',
    matched: override.model,
    startsAt: override.startsAt ?? null,
    startsAtMs: toStart(override),
    bands,
    unitBands: toUnitBands(bands),
  };
}

function toDefaultRates(): ModelRates {
  const bands = [{ overInputTokens: -1, rates: DEFAULT_RATES }];
  const rates: DatedRates = {
    basis: 'default',
    matched: null,
    startsAt: null,
    startsAtMs: ALWAYS,
    bands,
    unitBands: toUnitBands(bands),
  };
  const multipliers = { list: NO_MULTIPLIERS, override: NO_MULTIPLIERS, default: NO_MULTIPLIERS };
  return { candidates: [rates], isDated: false, multipliers, seller: undefined, id: '' };
}
