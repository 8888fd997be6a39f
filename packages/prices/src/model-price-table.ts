import { COST_UNITS_PER_USD, type Price, type PriceQuery, type PriceTable, type Usage } from '@recount/core';
import { findListedModel, GENAI_PRICES_VERSION, type ListedModel } from './list-prices.ts';
import { parseModelName } from './model-name.ts';
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
import { BATCH_MULTIPLIER, toFastModeMultiplier, toRegionMultiplier, VENDOR_RULES_VERSION } from './vendor-rules.ts';

/** Models whose resolved rates are cached; a workspace uses a few dozen. */
export const MAX_CACHED_MODELS = 256;
/** No model's name is longer. */
const MAX_MODEL_NAME_CHARACTERS = 256;

/** Factors for all rates except searches. */
export interface Multipliers {
  /** For every request, depending on the model's name: 1.1 for regional Bedrock profiles, else 1. */
  host: number;
  /** Fast mode; null if its price is unknown, which makes such requests unpriced. */
  fast: number | null;
  /** Inference bound to the United States (`inference_geo: us`); replaces `host` if that is lower. */
  usInference: number;
  /** The batch tier. */
  batch: number;
}

/** How a model's requests are priced at a given time. */
export interface AppliedRates {
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
  /** What `price` applies; null for a model without a price. Without a timestamp: the latest rates. */
  describeRates(model: string | null, timestamp: string | null): AppliedRates | null;
}

interface DatedRates extends Omit<AppliedRates, 'multipliers'> {
  startsAtMs: number;
  unitBands: UnitBand[];
}

interface ModelRates {
  /** In the order in which they are tried: the first one that had started by the request's time applies. */
  candidates: DatedRates[];
  isDated: boolean;
  multipliers: Record<AppliedRates['basis'], Multipliers>;
}

const ALWAYS = Number.NEGATIVE_INFINITY;
const UNPRICED: Price = { costUsd: null, costs: null, basis: 'unpriced' };
const NO_MULTIPLIERS: Multipliers = { host: 1, fast: 1, usInference: 1, batch: 1 };
const LIST_VERSION = `genai-prices-${GENAI_PRICES_VERSION}-rules-${VENDOR_RULES_VERSION}`;

/** The makers' list prices, by model and date. */
export function createListPrices(): ModelPriceTable {
  return createPriceTable({ overrides: [] });
}

/**
 * List prices, preceded by a workspace's own. Of the overrides (as returned by `parsePriceOverrides`) that name a model
 * and have started, the most specific applies, then the latest. The vendor's multipliers for fast mode, inference
 * geography and the batch tier also apply to overrides; unknown ones are 1.
 */
export function createPriceTable({ overrides }: { overrides: readonly PriceOverride[] }): ModelPriceTable {
  const cache = new Map<string, ModelRates>();
  const defaultRates = toDefaultRates();
  const overrideRates = overrides.toSorted(compareOverrides).map(toOverrideRates);

  const resolve = (model: string | null): ModelRates | undefined => {
    if (model === null) return defaultRates;
    const cached = cache.get(model);
    if (cached !== undefined) return cached;
    if (model.length > MAX_MODEL_NAME_CHARACTERS) return undefined;
    if (cache.size >= MAX_CACHED_MODELS) cache.clear();
    const resolved = resolveModel(model, overrideRates);
    cache.set(model, resolved);
    return resolved;
  };

  return {
    version: overrides.length === 0 ? LIST_VERSION : `${LIST_VERSION}+${hashOverrides(overrides)}`,
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

function applyRates(model: ModelRates, { timestamp, usage }: PriceQuery): Price | undefined {
  const rates = selectRates(model, timestamp);
  if (rates === undefined) return undefined;
  const multiplier = toMultiplier(model.multipliers[rates.basis], usage);
  const cost = multiplier === null ? null : priceUsage(usage, rates.unitBands, multiplier);
  return cost === null ? undefined : { costUsd: cost.costUsd, costs: cost.costs, basis: rates.basis };
}

function toMultiplier({ host, fast, usInference, batch }: Multipliers, usage: Usage): number | null {
  const region = usage.inferenceGeo === 'us' ? Math.max(host, usInference) : host;
  const tier = usage.serviceTier === 'batch' ? batch : 1;
  const speed = usage.speed === 'fast' ? fast : 1;
  return speed === null ? null : region * tier * speed;
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

function resolveModel(model: string, overrideRates: readonly DatedRates[]): ModelRates {
  const name = parseModelName(model);
  const listed = name === undefined ? undefined : findListedModel(name);
  const candidates = [
    ...overrideRates.filter(({ matched }) => matched !== null && isNamedBy(matched, model)),
    ...(listed === undefined ? [] : toListedRates(listed)),
  ];
  const usInference = listed === undefined ? 1 : toRegionMultiplier(listed.model);
  const fast = listed === undefined ? undefined : toFastModeMultiplier(listed.model);
  const host = name?.isRegional ? usInference : 1;
  return {
    candidates,
    isDated: candidates.some(({ startsAtMs }) => startsAtMs > ALWAYS),
    multipliers: {
      list: { host, fast: fast ?? null, usInference, batch: BATCH_MULTIPLIER },
      // A workspace's price applies to the name as written, including the host.
      override: { host: 1, fast: fast ?? 1, usInference, batch: BATCH_MULTIPLIER },
      default: NO_MULTIPLIERS,
    },
  };
}

function toListedRates({ model, periods }: ListedModel): DatedRates[] {
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
  return { candidates: [rates], isDated: false, multipliers };
}
