import { COST_UNITS_PER_USD, USAGE_SUMS, type UsageSums } from '@recount/core';
import type { LedgerRow } from './local-ledger.ts';

/** Sums over responses, and the sessions that they or their copies are in. */
export interface GroupSums {
  usage: UsageSums;
  sessions: Set<string>;
  /** Copies of responses that are credited to another session. */
  shared: number;
}

export const createSums = (): GroupSums => ({ usage: createUsageSums(), sessions: new Set(), shared: 0 });

const createUsageSums = (): UsageSums => Object.fromEntries(USAGE_SUMS.map((name) => [name, 0])) as UsageSums;

export const toUnits = (costUsd: number | null): number => Math.round((costUsd ?? 0) * COST_UNITS_PER_USD);

export function addResponse(
  { usage: sums, sessions }: GroupSums,
  { usage, price, isUnfinalised, estimatedTokensOut, sessionId }: LedgerRow,
): void {
  sessions.add(sessionId);
  sums.responses++;
  sums.tokens_in += usage.inputTokens;
  sums.tokens_out += usage.outputTokens;
  sums.cache_read += usage.cacheReadTokens;
  sums.cache_write += usage.cacheWriteTokens;
  sums.cache_write_1h += usage.cacheWrite1hTokens;
  sums.thinking_tokens += usage.thinkingTokens;
  sums.web_search_requests += usage.webSearchRequests;
  if (price.costUsd === null) {
    sums.unpriced_responses++;
    sums.unpriced_tokens += usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  } else {
    sums.cost_units += toUnits(price.costUsd);
    if (price.costs !== null) {
      sums.cost_input_units += toUnits(price.costs.input);
      sums.cost_output_units += toUnits(price.costs.output);
      sums.cost_cache_read_units += toUnits(price.costs.cacheRead);
      sums.cost_cache_write_units += toUnits(price.costs.cacheWrite);
      sums.cost_web_search_units += toUnits(price.costs.webSearch);
    }
  }
  if (price.basis === 'default') sums.default_priced_responses++;
  if (!isUnfinalised) return;
  sums.unfinalised_responses++;
  sums.unfinalised_tokens_out += usage.outputTokens;
  sums.estimated_tokens_out += estimatedTokensOut;
}

/** The sums of several groups together. */
export function addUp(groups: readonly UsageSums[]): UsageSums {
  const total = createUsageSums();
  for (const sums of groups) for (const name of USAGE_SUMS) total[name] += sums[name];
  return total;
}
