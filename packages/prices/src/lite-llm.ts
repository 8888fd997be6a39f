import type { RateBand, Rates } from './rates.ts';

/** One model of LiteLLM's model_prices_and_context_window.json. */
export type LiteLlmEntry = Readonly<Record<string, unknown>>;

export const LITE_LLM_FIELDS = {
  inputUsdPerMillion: 'input_cost_per_token',
  outputUsdPerMillion: 'output_cost_per_token',
  cacheReadUsdPerMillion: 'cache_read_input_token_cost',
  cacheWrite5mUsdPerMillion: 'cache_creation_input_token_cost',
  cacheWrite1hUsdPerMillion: 'cache_creation_input_token_cost_above_1hr',
} as const satisfies Partial<Record<keyof Rates, string>>;

const TEXT_MODES = new Set<unknown>([undefined, 'chat', 'responses', 'completion']);
const THRESHOLD = /_above_(\d+)k_tokens$/;

/** The models of a file that are billed by text tokens; empty if it is no such file. */
export function listLiteLlmEntries(file: unknown): [model: string, entry: LiteLlmEntry][] {
  if (typeof file !== 'object' || file === null || Array.isArray(file)) return [];
  return Object.entries(file as Record<string, unknown>).flatMap(([model, value]): [string, LiteLlmEntry][] => {
    if (model === 'sample_spec' || typeof value !== 'object' || value === null) return [];
    const entry = value as LiteLlmEntry;
    const isPriced = entry.input_cost_per_token !== undefined && entry.output_cost_per_token !== undefined;
    return isPriced && TEXT_MODES.has(entry.mode) ? [[model, entry]] : [];
  });
}

/** Request sizes, in input tokens, above which the entry has other rates. */
export function listLiteLlmThresholds(entry: LiteLlmEntry): number[] {
  const sizes = Object.keys(entry).flatMap((field) => {
    const [, thousands] = THRESHOLD.exec(field) ?? [];
    return thousands === undefined ? [] : [Number(thousands) * 1000];
  });
  return [...new Set(sizes)];
}

/**
 * The rate for requests of this size in dollars per million tokens, from the largest threshold that does not exceed it;
 * undefined if the entry has no rate for the class.
 */
export function findLiteLlmRate(entry: LiteLlmEntry, field: string, overInputTokens: number): number | undefined {
  const steps = Object.keys(entry)
    .filter((name) => name.startsWith(`${field}_above_`) && name.replace(THRESHOLD, '') === field)
    .map((name) => ({ over: Number(THRESHOLD.exec(name)?.[1]) * 1000, rate: toRate(entry[name]) }))
    .filter(({ over, rate }) => over <= overInputTokens && rate !== undefined)
    .sort((a, b) => a.over - b.over);
  return steps.at(-1)?.rate ?? toRate(entry[field]);
}

/** A class without a rate costs what it is a variant of, as in `toRatePeriods`. */
export function toLiteLlmBands(entry: LiteLlmEntry): RateBand[] {
  const webSearch = readWebSearch(entry);
  return [-1, ...listLiteLlmThresholds(entry).sort((a, b) => a - b)].map((overInputTokens) => {
    const read = (name: keyof typeof LITE_LLM_FIELDS) => findLiteLlmRate(entry, LITE_LLM_FIELDS[name], overInputTokens);
    const input = read('inputUsdPerMillion') ?? 0;
    const cacheWrite = read('cacheWrite5mUsdPerMillion') ?? input;
    return {
      overInputTokens,
      rates: {
        inputUsdPerMillion: input,
        outputUsdPerMillion: read('outputUsdPerMillion') ?? 0,
        cacheReadUsdPerMillion: read('cacheReadUsdPerMillion') ?? input,
        cacheWrite5mUsdPerMillion: cacheWrite,
        cacheWrite1hUsdPerMillion: read('cacheWrite1hUsdPerMillion') ?? cacheWrite,
        webSearchUsdPerThousand: webSearch,
      },
    };
  });
}

function readWebSearch({ search_context_cost_per_query: costs }: LiteLlmEntry): number | null {
  const medium = (costs as LiteLlmEntry | null | undefined)?.search_context_size_medium;
  return typeof medium === 'number' && medium >= 0 ? Math.round(medium * 1e10) / 1e7 : null;
}

/** US dollars per million tokens. */
function toRate(perToken: unknown): number | undefined {
  return typeof perToken === 'number' && perToken >= 0 ? Math.round(perToken * 1e13) / 1e7 : undefined;
}
