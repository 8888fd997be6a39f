import type { JsonObject } from '../../lines/json.ts';
import { cutCharacters, MAX_TYPE_LENGTH, readCount, readObject, readPart } from '../../records/fields.ts';
import { isTermName, MAX_REQUESTS_PER_RESPONSE, MAX_TOKENS_PER_FIELD, type Usage } from '../../records/usage.ts';
import { listUnknownTerms } from '../reader-kit.ts';

/**
 * Reads a `message.usage` object of the Anthropic API. A field without a plausible count is reported and becomes 0, and so
 * is a part that is no object, and a tier or speed that is no name.
 */
export function toUsage(usage: JsonObject, onInvalid: (field: string) => void): Usage {
  const count = (source: JsonObject | undefined, field: string, max = MAX_TOKENS_PER_FIELD): number =>
    readCount(source?.[field], max, () => onInvalid(field)) ?? 0;
  const text = (field: string): string | null => {
    const value = usage[field] ?? null;
    if (value === null || value === '') return null;
    const name = typeof value === 'string' ? cutCharacters(value, 64) : '';
    if (isTermName(name)) return name;
    onInvalid(field);
    return null;
  };
  const part = (field: string): JsonObject | undefined => readPart(usage, field, onInvalid);
  const cacheCreation = part('cache_creation');
  const serverToolUse = part('server_tool_use');
  const cacheWrite5mTokens = count(cacheCreation, 'ephemeral_5m_input_tokens');
  const cacheWrite1hTokens = count(cacheCreation, 'ephemeral_1h_input_tokens');
  return {
    inputTokens: count(usage, 'input_tokens'),
    outputTokens: count(usage, 'output_tokens'),
    cacheReadTokens: count(usage, 'cache_read_input_tokens'),
    // If the total is missing or smaller, the parts are priced all the same, because tokens and cost must agree.
    cacheWriteTokens: Math.max(count(usage, 'cache_creation_input_tokens'), cacheWrite5mTokens + cacheWrite1hTokens),
    cacheWrite5mTokens,
    cacheWrite1hTokens,
    webSearchRequests: count(serverToolUse, 'web_search_requests', MAX_REQUESTS_PER_RESPONSE),
    webFetchRequests: count(serverToolUse, 'web_fetch_requests', MAX_REQUESTS_PER_RESPONSE),
    thinkingTokens: count(part('output_tokens_details'), 'thinking_tokens'),
    serviceTier: text('service_tier'),
    speed: text('speed'),
    inferenceGeo: text('inference_geo'),
  };
}

/** Counts of a usage, and of the objects in it. */
const KNOWN_COUNTS: ReadonlySet<string> = new Set([
  ...['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
  // Sums and limits that programs in between add.
  ...['total_tokens', 'max_tokens', 'prompt_tokens', 'completion_tokens'],
]);
const KNOWN_PARTS: Readonly<Record<string, ReadonlySet<string>>> = {
  cache_creation: new Set(['ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens']),
  server_tool_use: new Set(['web_search_requests', 'web_fetch_requests']),
};

/**
 * Names of counts above 0, and tiers, that no rule reads, such as a new class of tokens, lifetime of caches or tool of
 * the API.
 */
export function listUnknownCounts(usage: JsonObject): string[] {
  const unknown: string[] = [];
  const list = (part: JsonObject | undefined, known: ReadonlySet<string>): void => {
    for (const field in part) {
      const value = part[field];
      if (typeof value !== 'number' || value <= 0 || known.has(field) || !/_(?:tokens|requests)$/.test(field)) continue;
      unknown.push(cutCharacters(field, MAX_TYPE_LENGTH));
    }
  };
  list(usage, KNOWN_COUNTS);
  for (const place in KNOWN_PARTS) list(readObject(usage[place]), KNOWN_PARTS[place] ?? KNOWN_COUNTS);
  return [...unknown, ...listUnknownTerms(usage, ['service_tier', 'speed'])];
}
