import { cutCharacters, readObject } from '../../records/fields.ts';
import type { JsonObject } from '../../rows.ts';
import type { Usage } from '../../usage/usage.ts';
import { type ReaderKit, toUsageIfAny } from '../reader-kit.ts';

/**
 * `tokens{input, output, reasoning, cache{read, write}, total}`: input excludes the cache. Output included reasoning
 * until April 2026 and excludes it since. The total tells which; without a total, reasoning counts as included unless
 * it is larger than the output, or known to stand beside it. https://github.com/anomalyco/opencode/pull/21047
 */
export function toOpencodeUsage(
  tokens: JsonObject | undefined,
  kit: ReaderKit,
  isKnownApart = false,
): Usage | undefined {
  if (tokens === undefined) return undefined;
  const cache = readObject(tokens.cache);
  const inputTokens = kit.toCount(tokens, 'input');
  const output = kit.toCount(tokens, 'output');
  const reasoning = kit.toCount(tokens, 'reasoning');
  const total = kit.toCount(tokens, 'total');
  const cacheReadTokens = kit.toCount(cache, 'read');
  const cacheWriteTokens = kit.toCount(cache, 'write');
  const withoutReasoning = inputTokens + output + cacheReadTokens + cacheWriteTokens;
  const isApart = reasoning > output || (total === 0 ? isKnownApart : total === withoutReasoning + reasoning);
  return toUsageIfAny({
    inputTokens,
    outputTokens: isApart ? output + reasoning : output,
    cacheReadTokens,
    cacheWriteTokens,
    thinkingTokens: reasoning,
  });
}

/** The same in every copy: a fork gives messages and parts new ids, but keeps times, models and counts. */
export function toResponseId(prefix: string, usage: Usage): string {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return cutCharacters(`${prefix}/${inputTokens}.${outputTokens}.${cacheReadTokens}.${cacheWriteTokens}`, 500);
}
