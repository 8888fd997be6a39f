import type { JsonObject } from '../../lines/json.ts';
import { readText } from '../../records/fields.ts';
import type { Usage } from '../../records/usage.ts';
import { type ReaderKit, toReportedCost, toUsageIfAny } from '../reader-kit.ts';

/** The usage of a request, as the response fields of records. */
export interface RequestUsage {
  responseId: string;
  usage: Usage | undefined;
  reportedCostUsd: number | null;
}

/**
 * `{"request":"…","tokensIn":10,"tokensOut":20,"cacheWrites":0,"cacheReads":0,"cost":0.01}`, completed when the request
 * ends. Entries with an `apiProtocol` are Roo Code's and Kilo Code's. With OpenAI's protocol, and since 31 October 2025
 * with Anthropic's too, `tokensIn` includes the cache. Without the cache it was never as large as the cache.
 * https://github.com/RooCodeInc/Roo-Code src/shared/cost.ts
 */
export function readRequestUsage(request: JsonObject, responseId: string, kit: ReaderKit): RequestUsage {
  const cacheReadTokens = kit.toCount(request, 'cacheReads');
  const cacheWriteTokens = kit.toCount(request, 'cacheWrites');
  const input = kit.toCount(request, 'tokensIn');
  const cached = cacheReadTokens + cacheWriteTokens;
  const isTotal = readText(request.apiProtocol) !== null && input >= cached;
  const usage = toUsageIfAny({
    inputTokens: isTotal ? input - cached : input,
    outputTokens: kit.toCount(request, 'tokensOut'),
    cacheReadTokens,
    cacheWriteTokens,
  });
  return { responseId, usage, reportedCostUsd: toReportedCost(kit.toDollars(request, 'cost')) };
}
