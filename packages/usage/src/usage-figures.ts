import { COST_UNITS_PER_USD } from '@recount/core';
import type { LedgerRow } from './local-ledger.ts';

/** Tokens and cost of API responses, as in `GET /v1/analytics/usage`. */
export interface UsageFigures {
  responses: number;
  tokens_in: number;
  tokens_out: number;
  cache_read: number;
  cache_write: number;
  cache_write_1h: number;
  thinking_tokens: number;
  total_tokens: number;
  cache_hit_ratio: number | null;
  web_search_requests: number;
  /** Null if there are responses and none of them has a price. */
  cost_usd: number | null;
  unfinalised: { responses: number; tokens_out: number; estimated_tokens_out: number };
  unpriced: { responses: number; tokens: number };
  default_priced_responses: number;
}

export interface Sums {
  responses: number;
  tokensIn: number;
  tokensOut: number;
  cacheRead: number;
  cacheWrite: number;
  cacheWrite1h: number;
  thinkingTokens: number;
  webSearchRequests: number;
  /** In units of 1e-10 dollars: sums are exact up to 900,000 dollars. */
  costUnits: number;
  unfinalised: { responses: number; tokens_out: number; estimated_tokens_out: number };
  unpriced: { responses: number; tokens: number };
  defaultPriced: number;
  sessions: Set<string>;
  shared: number;
}

export function createSums(): Sums {
  return {
    responses: 0,
    tokensIn: 0,
    tokensOut: 0,
    cacheRead: 0,
    cacheWrite: 0,
    cacheWrite1h: 0,
    thinkingTokens: 0,
    webSearchRequests: 0,
    costUnits: 0,
    unfinalised: { responses: 0, tokens_out: 0, estimated_tokens_out: 0 },
    unpriced: { responses: 0, tokens: 0 },
    defaultPriced: 0,
    sessions: new Set(),
    shared: 0,
  };
}

export const toUnits = (costUsd: number | null): number => Math.round((costUsd ?? 0) * COST_UNITS_PER_USD);

export function addResponse(
  sums: Sums,
  { usage, price, isUnfinalised, estimatedTokensOut, sessionId }: LedgerRow,
): void {
  sums.responses++;
  sums.tokensIn += usage.inputTokens;
  sums.tokensOut += usage.outputTokens;
  sums.cacheRead += usage.cacheReadTokens;
  sums.cacheWrite += usage.cacheWriteTokens;
  sums.cacheWrite1h += usage.cacheWrite1hTokens;
  sums.thinkingTokens += usage.thinkingTokens;
  sums.webSearchRequests += usage.webSearchRequests;
  sums.sessions.add(sessionId);
  if (price.costUsd === null) {
    sums.unpriced.responses++;
    sums.unpriced.tokens += usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  } else sums.costUnits += toUnits(price.costUsd);
  if (price.basis === 'default') sums.defaultPriced++;
  if (!isUnfinalised) return;
  sums.unfinalised.responses++;
  sums.unfinalised.tokens_out += usage.outputTokens;
  sums.unfinalised.estimated_tokens_out += estimatedTokensOut;
}

export function toFigures(sums: Sums): UsageFigures {
  const input = sums.tokensIn + sums.cacheRead + sums.cacheWrite;
  const hasCost = sums.responses === 0 || sums.unpriced.responses < sums.responses;
  return {
    responses: sums.responses,
    tokens_in: sums.tokensIn,
    tokens_out: sums.tokensOut,
    cache_read: sums.cacheRead,
    cache_write: sums.cacheWrite,
    cache_write_1h: sums.cacheWrite1h,
    thinking_tokens: sums.thinkingTokens,
    total_tokens: input + sums.tokensOut,
    cache_hit_ratio: input === 0 ? null : sums.cacheRead / input,
    web_search_requests: sums.webSearchRequests,
    cost_usd: hasCost ? sums.costUnits / COST_UNITS_PER_USD : null,
    unfinalised: sums.unfinalised,
    unpriced: sums.unpriced,
    default_priced_responses: sums.defaultPriced,
  };
}

/** The figures of several rows together. */
export function sumFigures(rows: readonly UsageFigures[]): UsageFigures {
  const sums = createSums();
  for (const row of rows) {
    sums.responses += row.responses;
    sums.tokensIn += row.tokens_in;
    sums.tokensOut += row.tokens_out;
    sums.cacheRead += row.cache_read;
    sums.cacheWrite += row.cache_write;
    sums.cacheWrite1h += row.cache_write_1h;
    sums.thinkingTokens += row.thinking_tokens;
    sums.webSearchRequests += row.web_search_requests;
    sums.costUnits += toUnits(row.cost_usd);
    sums.unfinalised.responses += row.unfinalised.responses;
    sums.unfinalised.tokens_out += row.unfinalised.tokens_out;
    sums.unfinalised.estimated_tokens_out += row.unfinalised.estimated_tokens_out;
    sums.unpriced.responses += row.unpriced.responses;
    sums.unpriced.tokens += row.unpriced.tokens;
    sums.defaultPriced += row.default_priced_responses;
  }
  return toFigures(sums);
}
