import type { RateBand, RatePeriod, Rates } from './rates.ts';

/**
 * Increase it with every change to this file, to the added models, or to the reading of names, that changes a price; it
 * is part of the table's version.
 */
export const VENDOR_RULES_VERSION = 3;

/** Factor on the list price for inference bound to a region: `inference_geo` of `us`, regional Bedrock profiles. */
const REGION_MULTIPLIER = 1.1;

/** Older models cost the same in all regions. */
const MODELS_WITHOUT_REGION_PREMIUM = /^claude-(?:v?[123]|opus-4-[01]$|sonnet-4-0$)/;

/** Larger requests were premium on Sonnet 4; the list has this band only for Sonnet 4.5 and early 4.6 models. */
const LONG_CONTEXT_TOKENS = 200_000;
const LONG_CONTEXT_INPUT_MULTIPLIER = 2;
const LONG_CONTEXT_OUTPUT_MULTIPLIER = 1.5;

/** Factor for Claude models, ids of the list, if inference is bound to the United States (`inference_geo` of `us`). */
export function toRegionMultiplier(model: string): number {
  if (!model.startsWith('claude-') || MODELS_WITHOUT_REGION_PREMIUM.test(model)) return 1;
  return REGION_MULTIPLIER;
}

/**
 * Factor for a model, an id of the list, whose name says that a host serves it in a region: Bedrock's regional profiles
 * and Azure's data zones charge a tenth more for the models of OpenAI and xAI as well.
 */
export function toRegionalHostMultiplier(model: string): number {
  return MODELS_WITHOUT_REGION_PREMIUM.test(model) ? 1 : REGION_MULTIPLIER;
}

/** Adds the band that the list lacks for `model`; leaves other models, and lists that have bands, unchanged. */
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
