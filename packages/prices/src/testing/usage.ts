import type { Usage } from '@recount/core';

/** Usage with the given fields; all others are 0. */
export function createUsage(fields: Partial<Usage> = {}): Usage {
  return {
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cacheWrite5mTokens: 0,
    cacheWrite1hTokens: 0,
    webSearchRequests: 0,
    webFetchRequests: 0,
    thinkingTokens: 0,
    serviceTier: null,
    speed: null,
    inferenceGeo: null,
    ...fields,
  };
}
