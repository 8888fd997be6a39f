import type { ApiResponse, PriceTable, Usage } from '@recount/core';

export interface Figures {
  responses: number;
  tokensIn: number;
  tokensOut: number;
  cacheRead: number;
  cacheWrite: number;
  costUsd: number;
}

export const emptyFigures = (): Figures => ({
  ...{ responses: 0, tokensIn: 0, tokensOut: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0 },
});

export function addTo(sum: Figures, figures: Figures): Figures {
  return {
    responses: sum.responses + figures.responses,
    tokensIn: sum.tokensIn + figures.tokensIn,
    tokensOut: sum.tokensOut + figures.tokensOut,
    cacheRead: sum.cacheRead + figures.cacheRead,
    cacheWrite: sum.cacheWrite + figures.cacheWrite,
    costUsd: sum.costUsd + figures.costUsd,
  };
}

/** The figures of a response at the given price. */
export function toFigures(response: ApiResponse, price: PriceTable['price']): Figures {
  const { model, timestamp, reported_cost_usd: reportedCostUsd } = response;
  return {
    responses: 1,
    tokensIn: response.tokens_in,
    tokensOut: response.tokens_out,
    cacheRead: response.cache_read,
    cacheWrite: response.cache_write,
    costUsd: price({ model, timestamp, usage: toUsage(response), reportedCostUsd }).costUsd ?? 0,
  };
}

function toUsage(response: ApiResponse): Usage {
  return {
    inputTokens: response.tokens_in,
    outputTokens: response.tokens_out,
    cacheReadTokens: response.cache_read,
    cacheWriteTokens: response.cache_write,
    cacheWrite5mTokens: response.cache_write_5m,
    cacheWrite1hTokens: response.cache_write_1h,
    webSearchRequests: response.web_search_requests,
    webFetchRequests: response.web_fetch_requests,
    thinkingTokens: response.thinking_tokens,
    serviceTier: response.service_tier,
    speed: response.speed,
    inferenceGeo: response.inference_geo,
    requests: response.request_tokens ?? undefined,
  };
}
