import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, readObject, readText } from '../../records/fields.ts';
import type { Usage } from '../../records/usage.ts';
import { type ReaderKit, toUsageIfAny } from '../reader-kit.ts';

/** Tokens of a response, or of all responses of a model. `input` includes both caches, `output` includes reasoning. */
export interface Counts {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning: number;
}

/** The figures of one model in a total. */
export interface ModelTotal {
  counts: Counts;
  /** API requests; 0 if it does not say. */
  requests: number;
}

export const NO_COUNTS: Readonly<Counts> = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
/** Models of a session; what further ones used is in no cross-check. */
const MAX_MODELS = 64;
const MAX_TOTAL = 1e12;
const MAX_MODEL_LENGTH = 200;

export function toCounts(read: (name: keyof Counts) => number): Counts {
  return {
    ...{ input: read('input'), output: read('output'), reasoning: read('reasoning') },
    ...{ cacheRead: read('cacheRead'), cacheWrite: read('cacheWrite') },
  };
}

export const addCounts = (one: Counts, other: Counts): Counts => toCounts((name) => one[name] + other[name]);

/** The excess of `one` over `other`; no class is below 0. */
export const subtractCounts = (one: Counts, other: Counts): Counts =>
  toCounts((name) => Math.max(0, one[name] - other[name]));

export const isSame = (one: Counts, other: Counts): boolean =>
  one.input === other.input &&
  one.output === other.output &&
  one.cacheRead === other.cacheRead &&
  one.cacheWrite === other.cacheWrite;

export function sumCounts(all: Iterable<Counts>): Counts {
  let sum: Counts = NO_COUNTS;
  for (const counts of all) sum = addCounts(sum, counts);
  return sum;
}

/** Adds to a model's counts; models beyond MAX_MODELS are left out. */
export function addToModel(all: Map<string, Counts>, model: string, counts: Counts): void {
  const known = all.get(model);
  if (known !== undefined || all.size < MAX_MODELS) all.set(model, addCounts(known ?? NO_COUNTS, counts));
}

/** Classes that do not overlap; undefined if all are 0. */
export function toUsage({ input, output, cacheRead, cacheWrite, reasoning }: Counts): Usage | undefined {
  return toUsageIfAny({
    inputTokens: Math.max(0, input - cacheRead - cacheWrite),
    outputTokens: output,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    thinkingTokens: reasoning,
  });
}

/** `{inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens}` of a request or of a total. */
export const readCounts = (kit: ReaderKit, source: JsonObject | undefined, max?: number): Counts =>
  toCounts((name) => kit.toCount(source, `${name}Tokens`, max));

/** `compactionTokensUsed`; before 1.0.50 or so `{input, output, cachedInput}`. */
export function readCompactionCounts(kit: ReaderKit, source: JsonObject): Counts {
  if ('inputTokens' in source || 'outputTokens' in source) return readCounts(kit, source);
  const cacheRead = kit.toCount(source, 'cachedInput');
  return { ...NO_COUNTS, input: kit.toCount(source, 'input'), output: kit.toCount(source, 'output'), cacheRead };
}

/**
 * Totals by model of `session.shutdown`. Files without figures by model have `tokenDetails`, whose classes do not
 * overlap. They belong to `model`.
 */
export function readTotals(kit: ReaderKit, data: JsonObject, model: string | null): Map<string, ModelTotal> {
  const totals = new Map<string, ModelTotal>();
  for (const [name, metric] of Object.entries(kit.toUsagePart(data, 'modelMetrics') ?? {}).slice(0, MAX_MODELS)) {
    const { requests } = readObject(metric) ?? {};
    const usage = kit.toUsagePart(readObject(metric), 'usage');
    if (usage === undefined) continue;
    const counts = readCounts(kit, usage, MAX_TOTAL);
    totals.set(cutCharacters(name, MAX_MODEL_LENGTH), { counts, requests: kit.toCount(readObject(requests), 'count') });
  }
  const details = readObject(data.tokenDetails);
  if (totals.size > 0 || details === undefined || model === null) return totals;
  const read = (name: string): number => kit.toCount(readObject(details[name]), 'tokenCount', MAX_TOTAL);
  const caches = { cacheRead: read('cache_read'), cacheWrite: read('cache_write') };
  const input = read('input') + caches.cacheRead + caches.cacheWrite;
  totals.set(model, { counts: { input, output: read('output'), ...caches, reasoning: 0 }, requests: 0 });
  return totals;
}

/** The texts among these fields, joined; null if there are none. */
export function joinTexts(...values: (JsonValue | undefined)[]): string | null {
  const texts = values.flatMap((value) => readText(value) ?? []);
  return texts.length === 0 ? null : texts.join('\n\n');
}
