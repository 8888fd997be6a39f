import type { JsonObject } from '../../lines/json.ts';
import { cutCharacters } from '../../records/fields.ts';
import type { Usage } from '../../records/usage.ts';
import { type ReaderKit, toUsageIfAny } from '../reader-kit.ts';

const REASONING_APART_SINCE_MS = Date.UTC(2026, 3, 1);

/**
 * `tokens{input, output, reasoning, cache{read, write}, total}`. Input excludes the cache. Output included reasoning
 * until April 2026 and excludes it since. The total shows it; without a total, reasoning counts as included unless it
 * is larger than the output, or the response is of later. https://github.com/anomalyco/opencode/pull/21047
 */
export function toOpencodeUsage(
  tokens: JsonObject | undefined,
  kit: ReaderKit,
  timestampMs: number | undefined,
): Usage | undefined {
  if (tokens === undefined) return undefined;
  const cache = kit.toUsagePart(tokens, 'cache');
  const inputTokens = kit.toCount(tokens, 'input');
  const output = kit.toCount(tokens, 'output');
  const reasoning = kit.toCount(tokens, 'reasoning');
  const total = kit.toCount(tokens, 'total');
  const cacheReadTokens = kit.toCount(cache, 'read');
  const cacheWriteTokens = kit.toCount(cache, 'write');
  const withoutReasoning = inputTokens + output + cacheReadTokens + cacheWriteTokens;
  const isLater = timestampMs !== undefined && timestampMs >= REASONING_APART_SINCE_MS;
  const isApart = reasoning > output || (total === 0 ? isLater : total === withoutReasoning + reasoning);
  return toUsageIfAny({
    inputTokens,
    outputTokens: isApart ? output + reasoning : output,
    cacheReadTokens,
    cacheWriteTokens,
    thinkingTokens: reasoning,
  });
}

/** Counts of a response, and an object with the cache's counts. */
export const OPENCODE_USAGE_FIELDS: ReadonlySet<string> = new Set(['input', 'output', 'reasoning', 'total']);

/** The same in every copy. A fork gives messages and parts new ids, but keeps times, models and counts. */
export function toResponseId(prefix: string, usage: Usage): string {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return cutCharacters(`${prefix}/${inputTokens}.${outputTokens}.${cacheReadTokens}.${cacheWriteTokens}`, 500);
}

/** The stated and the counted figures of a session's steps, so that the sums can be compared. */
export interface StatedTotals {
  stated: number;
  counted: number;
  /** Dollars of messages, and of their steps. */
  statedCost: number;
  countedCost: number;
}

/** Adds a step whose `tokens` state a separate total. */
export function addStatedTotal(totals: StatedTotals, tokens: JsonObject | undefined, usage: Usage | undefined): void {
  const total = tokens?.total;
  if (usage === undefined || typeof total !== 'number' || total === 0) return;
  totals.stated += total;
  totals.counted += usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}
