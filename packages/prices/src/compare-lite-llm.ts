import {
  findLiteLlmRate,
  LITE_LLM_FIELDS,
  type LiteLlmEntry,
  listLiteLlmEntries,
  listLiteLlmThresholds,
} from './lite-llm.ts';
import type { ModelPriceTable } from './model-price-table.ts';
import type { RateBand } from './rates.ts';

const COMPARED_CLASSES = ['input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'] as const;
type ComparedClass = (typeof COMPARED_CLASSES)[number];

interface RateDifference {
  /** Name in the file. */
  model: string;
  /** Id in recount's list. */
  matched: string | null;
  class: ComparedClass;
  /** Applies to requests with more input than this; -1: all others. */
  overInputTokens: number;
  /** US dollars per million tokens. */
  ours: number;
  theirs: number;
}

export interface PriceComparison {
  /** Models in both, and how many of them agree in everything that the file states. */
  comparedModels: number;
  equalModels: number;
  /** By model, in the file's order. */
  differences: RateDifference[];
  /** Models of the file that recount has no price for. */
  unpriced: string[];
}

interface CompareOptions {
  /** Compares rates as of this time, ISO 8601; defaults to the latest. */
  timestamp?: string | undefined;
  /**
   * Also compares prices of other hosts for the makers' models, such as Azure and Bedrock. Defaults to the makers'
   * only.
   */
  includesHosts?: boolean | undefined;
}

const RATES: Readonly<Record<ComparedClass, keyof typeof LITE_LLM_FIELDS>> = {
  input: 'inputUsdPerMillion',
  output: 'outputUsdPerMillion',
  cacheRead: 'cacheReadUsdPerMillion',
  cacheWrite5m: 'cacheWrite5mUsdPerMillion',
  cacheWrite1h: 'cacheWrite1hUsdPerMillion',
};
const MAKERS = new Set<unknown>(['anthropic', 'openai', 'gemini']);
/** Prices per token, as binary fractions, differ in their last digits. */
const MAX_RELATIVE_ERROR = 1e-6;

/**
 * Compares a price table with LiteLLM's file (`model_prices_and_context_window.json`, an object of models), by class
 * and by request size. Skips what the file does not state. Undefined if it is no such file.
 */
export function compareWithLiteLlm(
  file: unknown,
  table: ModelPriceTable,
  { timestamp, includesHosts = false }: CompareOptions = {},
): PriceComparison | undefined {
  const entries = listLiteLlmEntries(file).filter(([, entry]) => isNumeric(entry));
  if (entries.length === 0) return undefined;
  const comparison: PriceComparison = { comparedModels: 0, equalModels: 0, differences: [], unpriced: [] };
  for (const [model, entry] of entries) {
    if (!includesHosts && !MAKERS.has(entry.litellm_provider)) continue;
    const rates = table.describeRates(model, timestamp ?? null);
    if (rates === null) {
      comparison.unpriced.push(model);
      continue;
    }
    const differences = compareModel(entry, rates.bands, rates.multipliers.host).map((difference) => ({
      ...{ model, matched: rates.matched },
      ...difference,
    }));
    comparison.comparedModels += 1;
    comparison.equalModels += differences.length === 0 ? 1 : 0;
    comparison.differences.push(...differences);
  }
  return comparison;
}

const isNumeric = (entry: LiteLlmEntry): boolean =>
  typeof entry.input_cost_per_token === 'number' && typeof entry.output_cost_per_token === 'number';

function compareModel(
  entry: LiteLlmEntry,
  bands: readonly RateBand[],
  hostMultiplier: number,
): Omit<RateDifference, 'model' | 'matched'>[] {
  const ourThresholds = bands.map(({ overInputTokens }) => overInputTokens);
  const thresholds = new Set([-1, ...ourThresholds, ...listLiteLlmThresholds(entry)]);
  // `over 271,999` (ours, for a band that begins at exactly 272,000) and `above 272k` (theirs) are the same band.
  return [...thresholds]
    .filter((size) => !thresholds.has(size + 1))
    .sort((a, b) => a - b)
    .flatMap((overInputTokens) => {
      const band = bands.findLast((candidate) => candidate.overInputTokens <= overInputTokens);
      return COMPARED_CLASSES.flatMap((name) => {
        const rate = RATES[name];
        const theirs = findLiteLlmRate(entry, LITE_LLM_FIELDS[rate], overInputTokens);
        const ours = (band?.rates[rate] ?? Number.NaN) * hostMultiplier;
        if (theirs === undefined || isEqual(ours, theirs)) return [];
        return [{ class: name, overInputTokens, ours, theirs }];
      });
    });
}

function isEqual(ours: number, theirs: number): boolean {
  return Math.abs(ours - theirs) <= MAX_RELATIVE_ERROR * Math.max(ours, theirs);
}
