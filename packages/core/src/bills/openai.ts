import type { JsonObject } from '../lines/json.ts';
import { readObject, readObjects } from '../records/fields.ts';
import {
  type AnsweredRow,
  type BillRow,
  NO_TOKENS,
  NOT_BATCH,
  readAmount,
  readCountOf,
  readDay,
  readLabel,
  toScope,
  toTimePiece,
} from './bill.ts';

/**
 * Pages of `GET /v1/organization/costs`, by line item, and `/v1/organization/usage/completions`, by model.
 * https://platform.openai.com/docs/api-reference/usage
 */
export function readOpenAiPage(page: JsonObject): AnsweredRow[] {
  return readObjects(page.data).flatMap((bucket) => {
    const day = readDay(bucket.start_time);
    return readObjects(bucket.results ?? bucket.result).map((result) => ({
      ...(readObject(result.amount) === undefined ? toUsage(day, result) : toCost(day, result)),
      ...toTimePiece(bucket.start_time, bucket.end_time),
    }));
  });
}

/** Line items of tokens are `gpt-5.2, input` or `gpt-5.2-2025-12-11, cached input`. */
const TOKEN_LINE = /^([^,]+), *(?:cached )?(?:input|output)\b/;

function toCost(day: string, result: JsonObject): BillRow {
  const lineItem = readLabel(result.line_item);
  const amount = readObject(result.amount) ?? {};
  return {
    day,
    kind: 'cost',
    model: TOKEN_LINE.exec(lineItem ?? '')?.[1] ?? null,
    lineItem,
    scope: toScope(result.project_id),
    serviceTier: null,
    amountUsd: readAmount(amount.value, amount.currency),
    ...NO_TOKENS,
    identity: JSON.stringify(['cost', day, result.line_item ?? null, result.project_id ?? null]),
  };
}

/** Input includes cached tokens. */
function toUsage(day: string, result: JsonObject): BillRow {
  const cached = readCountOf(result.input_cached_tokens);
  const dimensions = ['model', 'project_id', 'user_id', 'api_key_id', 'batch', 'service_tier'];
  return {
    day,
    kind: 'usage',
    model: readLabel(result.model),
    lineItem: null,
    scope: toScope(result.project_id, result.user_id, result.api_key_id),
    serviceTier: readTier(result),
    amountUsd: null,
    inputTokens: Math.max(0, readCountOf(result.input_tokens) - cached),
    outputTokens: readCountOf(result.output_tokens),
    cacheReadTokens: cached,
    cacheWriteTokens: 0,
    identity: JSON.stringify(['usage', day, ...dimensions.map((name) => result[name] ?? null)]),
  };
}

/** Null if the report is not grouped by it. */
function readTier({ batch, service_tier: tier }: JsonObject): string | null {
  if (batch === true) return 'batch';
  return readLabel(tier) ?? (batch === false ? NOT_BATCH : null);
}
