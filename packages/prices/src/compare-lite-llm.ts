import type { ModelPriceTable } from './model-price-table.ts';
import type { RateBand, Rates } from './rates.ts';

const COMPARED_CLASSES = ['input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'] as const;
export type ComparedClass = (typeof COMPARED_CLASSES)[number];

export interface RateDifference {
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
  /** Compares rates as of this time, ISO 8601; default: the latest. */
  timestamp?: string | undefined;
  /**
   * Whether to also compare prices of other hosts for the makers' models, such as Azure and Bedrock; default: the
   * makers' only.
   */
  includesHosts?: boolean | undefined;
}

type Entry = Readonly<Record<string, unknown>>;

const FIELDS: Readonly<Record<ComparedClass, { field: string; rate: keyof Rates }>> = {
  input: { field: 'input_cost_per_token', rate: 'inputUsdPerMillion' },
  output: { field: 'output_cost_per_token', rate: 'outputUsdPerMillion' },
  cacheRead: { field: 'cache_read_input_token_cost', rate: 'cacheReadUsdPerMillion' },
  cacheWrite5m: { field: 'cache_creation_input_token_cost', rate: 'cacheWrite5mUsdPerMillion' },
  cacheWrite1h: { field: 'cache_creation_input_token_cost_above_1hr', rate: 'cacheWrite1hUsdPerMillion' },
};
const MAKERS = new Set<unknown>(['anthropic', 'openai', 'gemini']);
const TEXT_MODES = new Set<unknown>([undefined, 'chat', 'responses', 'completion']);
const THRESHOLD = /_above_(\d+)k_tokens$/;
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
  const entries = readEntries(file);
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

/** Models that are billed by text tokens. */
function readEntries(file: unknown): [model: string, entry: Entry][] {
  if (typeof file !== 'object' || file === null || Array.isArray(file)) return [];
  return Object.entries(file as Record<string, unknown>).flatMap(([model, value]): [string, Entry][] => {
    if (model === 'sample_spec' || typeof value !== 'object' || value === null) return [];
    const entry = value as Entry;
    const isPriced =
      toRate(entry.input_cost_per_token) !== undefined && toRate(entry.output_cost_per_token) !== undefined;
    return isPriced && TEXT_MODES.has(entry.mode) ? [[model, entry]] : [];
  });
}

function compareModel(
  entry: Entry,
  bands: readonly RateBand[],
  hostMultiplier: number,
): Omit<RateDifference, 'model' | 'matched'>[] {
  const theirThresholds = Object.keys(entry).flatMap((field) => {
    const [, thousands] = THRESHOLD.exec(field) ?? [];
    return thousands === undefined ? [] : [Number(thousands) * 1000];
  });
  const thresholds = new Set([-1, ...bands.map(({ overInputTokens }) => overInputTokens), ...theirThresholds]);
  return [...thresholds]
    .sort((a, b) => a - b)
    .flatMap((overInputTokens) => {
      const band = bands.findLast((candidate) => candidate.overInputTokens <= overInputTokens);
      return COMPARED_CLASSES.flatMap((name) => {
        const { field, rate } = FIELDS[name];
        const theirs = findTheirRate(entry, field, overInputTokens);
        const ours = (band?.rates[rate] ?? Number.NaN) * hostMultiplier;
        if (theirs === undefined || isEqual(ours, theirs)) return [];
        return [{ class: name, overInputTokens, ours, theirs }];
      });
    });
}

/**
 * The rate for requests of this size, from the largest threshold that does not exceed it; undefined if the file has no
 * rate for the class.
 */
function findTheirRate(entry: Entry, field: string, overInputTokens: number): number | undefined {
  const base = toRate(entry[field]);
  const steps = Object.keys(entry)
    .filter((name) => name.startsWith(`${field}_above_`) && name.replace(THRESHOLD, '') === field)
    .map((name) => ({ over: Number(THRESHOLD.exec(name)?.[1]) * 1000, rate: toRate(entry[name]) }))
    .filter(({ over, rate }) => over <= overInputTokens && rate !== undefined)
    .sort((a, b) => a.over - b.over);
  return steps.at(-1)?.rate ?? base;
}

/** US dollars per million tokens. */
function toRate(perToken: unknown): number | undefined {
  return typeof perToken === 'number' && perToken >= 0 ? Math.round(perToken * 1e13) / 1e7 : undefined;
}

function isEqual(ours: number, theirs: number): boolean {
  return Math.abs(ours - theirs) <= MAX_RELATIVE_ERROR * Math.max(ours, theirs);
}
