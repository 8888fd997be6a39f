import { COST_UNITS_PER_USD } from '../records/rows.ts';

/**
 * Sums over API responses, in whole numbers. They are tokens, and costs in units of 1e-10 dollars. Columns of SQL's
 * roll-ups.
 */
export const USAGE_SUMS = [
  'responses',
  'tokens_in',
  'tokens_out',
  'cache_read',
  'cache_write',
  'cache_write_1h',
  'thinking_tokens',
  'web_search_requests',
  'cost_units',
  'cost_input_units',
  'cost_output_units',
  'cost_cache_read_units',
  'cost_cache_write_units',
  'cost_web_search_units',
  'unfinalised_responses',
  'unfinalised_tokens_out',
  'estimated_tokens_out',
  'unpriced_responses',
  'unpriced_tokens',
  'default_priced_responses',
] as const;

export type UsageSums = Record<(typeof USAGE_SUMS)[number], number>;

/**
 * Tokens and cost of API responses, as the API gives them. Costs are in US dollars, exact to 1e-10 up to 900,000, and
 * the nearest number above.
 */
export interface UsageFigures {
  responses: number;
  tokens_in: number;
  tokens_out: number;
  cache_read: number;
  cache_write: number;
  cache_write_1h: number;
  thinking_tokens: number;
  total_tokens: number;
  /** Null without input. */
  cache_hit_ratio: number | null;
  web_search_requests: number;
  /** Null if there are responses and no response has a price. */
  cost_usd: number | null;
  /** Parts of `cost_usd`, null if it is null. */
  cost_by_class: {
    input: number;
    output: number;
    cache_read: number;
    cache_write: number;
    web_search: number;
  } | null;
  unfinalised: { responses: number; tokens_out: number; estimated_tokens_out: number };
  unpriced: { responses: number; tokens: number };
  default_priced_responses: number;
}

/**
 * The quotient of two integers below 2^53 is the number nearest to the exact amount, so its digits are right to 1e-10.
 */
export const toUsd = (units: number): number => units / COST_UNITS_PER_USD;

/** The cost of responses that have a price. Null if there are responses but none has one. */
export const toKnownCost = (
  units: number,
  { responses, unpriced }: { responses: number; unpriced: number },
): number | null => (responses > 0 && unpriced === responses ? null : toUsd(units));

export function toUsageFigures(sums: UsageSums): UsageFigures {
  const input = sums.tokens_in + sums.cache_read + sums.cache_write;
  const cost = toKnownCost(sums.cost_units, { responses: sums.responses, unpriced: sums.unpriced_responses });
  return {
    responses: sums.responses,
    tokens_in: sums.tokens_in,
    tokens_out: sums.tokens_out,
    cache_read: sums.cache_read,
    cache_write: sums.cache_write,
    cache_write_1h: sums.cache_write_1h,
    thinking_tokens: sums.thinking_tokens,
    total_tokens: input + sums.tokens_out,
    cache_hit_ratio: input === 0 ? null : sums.cache_read / input,
    web_search_requests: sums.web_search_requests,
    cost_usd: cost,
    cost_by_class:
      cost === null
        ? null
        : {
            input: toUsd(sums.cost_input_units),
            output: toUsd(sums.cost_output_units),
            cache_read: toUsd(sums.cost_cache_read_units),
            cache_write: toUsd(sums.cost_cache_write_units),
            web_search: toUsd(sums.cost_web_search_units),
          },
    unfinalised: {
      responses: sums.unfinalised_responses,
      tokens_out: sums.unfinalised_tokens_out,
      estimated_tokens_out: sums.estimated_tokens_out,
    },
    unpriced: { responses: sums.unpriced_responses, tokens: sums.unpriced_tokens },
    default_priced_responses: sums.default_priced_responses,
  };
}
