import type { JsonObject } from '../../lines/json.ts';
import type { Usage } from '../../records/usage.ts';
import { type ReaderKit, toUsageIfAny } from '../reader-kit.ts';

/** Names of the counts, in messages and in telemetry. */
const MESSAGE_FIELDS = {
  prompt: 'promptTokenCount',
  candidates: 'candidatesTokenCount',
  thoughts: 'thoughtsTokenCount',
  cached: 'cachedContentTokenCount',
  total: 'totalTokenCount',
};
const TELEMETRY_FIELDS: typeof MESSAGE_FIELDS = {
  prompt: 'input_token_count',
  candidates: 'output_token_count',
  thoughts: 'thoughts_token_count',
  cached: 'cached_content_token_count',
  total: 'total_token_count',
};

/** `usageMetadata` of a message. */
export const toMessageUsage = (tokens: JsonObject, kit: ReaderKit): Usage | undefined =>
  toQwenUsage(tokens, MESSAGE_FIELDS, kit);

/** An `api_response` of the telemetry. */
export const toTelemetryUsage = (event: JsonObject, kit: ReaderKit): Usage | undefined =>
  toQwenUsage(event, TELEMETRY_FIELDS, kit);

/**
 * Counts of the Gemini API: prompt tokens include cached ones. With most providers behind Qwen Code, candidates include
 * thoughts; the total shows if they do not.
 */
function toQwenUsage(source: JsonObject, fields: typeof MESSAGE_FIELDS, kit: ReaderKit): Usage | undefined {
  const prompt = kit.toCount(source, fields.prompt);
  const candidates = kit.toCount(source, fields.candidates);
  const thinkingTokens = kit.toCount(source, fields.thoughts);
  const total = kit.toCount(source, fields.total);
  const cacheReadTokens = Math.min(prompt, kit.toCount(source, fields.cached));
  const isApart = total === prompt + candidates + thinkingTokens || thinkingTokens > candidates;
  return toUsageIfAny({
    inputTokens: prompt - cacheReadTokens,
    outputTokens: isApart ? candidates + thinkingTokens : candidates,
    cacheReadTokens,
    thinkingTokens,
  });
}

/** `usage` of a stream's message or result: `input_tokens` includes what was read from the cache. */
export function toStreamUsage(source: JsonObject, kit: ReaderKit, max?: number): Usage | undefined {
  const input = kit.toCount(source, 'input_tokens', max);
  const output = kit.toCount(source, 'output_tokens', max);
  const cacheReadTokens = Math.min(input, kit.toCount(source, 'cache_read_input_tokens', max));
  // Thoughts that the output does not include are in the total.
  const thinkingTokens = Math.max(0, kit.toCount(source, 'total_tokens', max) - input - output);
  return toUsageIfAny({
    inputTokens: input - cacheReadTokens,
    outputTokens: output + thinkingTokens,
    cacheReadTokens,
    thinkingTokens,
  });
}

/** Tokens of several responses, by class. */
export interface QwenSum {
  input: number;
  cached: number;
  output: number;
}

export const NO_TOKENS: Readonly<QwenSum> = { input: 0, cached: 0, output: 0 };

export const addUsage = (sum: QwenSum, usage: Usage | undefined): QwenSum =>
  usage === undefined
    ? sum
    : {
        input: sum.input + usage.inputTokens,
        cached: sum.cached + usage.cacheReadTokens,
        output: sum.output + usage.outputTokens,
      };
