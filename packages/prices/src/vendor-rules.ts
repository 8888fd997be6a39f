import type { RateBand, RatePeriod, Rates } from './rates.ts';

/** Raised with every change to this file, or to how names are read, that changes a price; part of the table's version. */
export const VENDOR_RULES_VERSION = 2;

/** Of the list price, for requests of the batch tier. The priority tier is sold by contract and priced as listed. */
export const BATCH_MULTIPLIER = 0.5;

/** Of the list price, for inference that is bound to a region: `inference_geo: us`, regional Bedrock profiles. */
const REGION_MULTIPLIER = 1.1;

/** Older models cost the same everywhere. */
const MODELS_WITHOUT_REGION_PREMIUM = /^claude-(?:v?[123]|opus-4-[01]$|sonnet-4-0$)/;

const FAST_MODE_MULTIPLIERS: ReadonlyMap<string, number> = new Map([
  ['claude-opus-4-6', 6],
  ['claude-opus-4-7', 6],
  ['claude-opus-4-8', 2],
  ['claude-opus-5', 2],
]);

/** Requests over it were premium on Sonnet 4; the list has the band of Sonnet 4.5 and early 4.6 models only. */
const LONG_CONTEXT_TOKENS = 200_000;
const LONG_CONTEXT_INPUT_MULTIPLIER = 2;
const LONG_CONTEXT_OUTPUT_MULTIPLIER = 1.5;

/** Of the list price in fast mode; undefined for models that have none that is known. `model` is an id of the list. */
export function toFastModeMultiplier(model: string): number | undefined {
  return FAST_MODE_MULTIPLIERS.get(model);
}

/** 1 or `REGION_MULTIPLIER`: what `model`, an id of the list, costs where inference is bound to a region. */
export function toRegionMultiplier(model: string): number {
  if (!model.startsWith('claude-') || MODELS_WITHOUT_REGION_PREMIUM.test(model)) return 1;
  return REGION_MULTIPLIER;
}

/** Adds the band that the list lacks for `model`; leaves all other models, and a list that has bands, as they are. */
export function addLongContextBand(model: string, periods: RatePeriod[]): RatePeriod[] {
  if (model !== 'claude-sonnet-4-0') return periods;
  return periods.map((period) => {
    const [band] = period.bands;
    if (band === undefined || period.bands.length > 1) return period;
    return { ...period, bands: [band, toLongContextBand(band.rates)] };
  });
}

function toLongContextBand(rates: Rates): RateBand {
  return {
    overInputTokens: LONG_CONTEXT_TOKENS,
    rates: {
      inputUsdPerMillion: rates.inputUsdPerMillion * LONG_CONTEXT_INPUT_MULTIPLIER,
      outputUsdPerMillion: rates.outputUsdPerMillion * LONG_CONTEXT_OUTPUT_MULTIPLIER,
      cacheReadUsdPerMillion: rates.cacheReadUsdPerMillion * LONG_CONTEXT_INPUT_MULTIPLIER,
      cacheWrite5mUsdPerMillion: rates.cacheWrite5mUsdPerMillion * LONG_CONTEXT_INPUT_MULTIPLIER,
      cacheWrite1hUsdPerMillion: rates.cacheWrite1hUsdPerMillion * LONG_CONTEXT_INPUT_MULTIPLIER,
      webSearchUsdPerThousand: rates.webSearchUsdPerThousand,
    },
  };
}
