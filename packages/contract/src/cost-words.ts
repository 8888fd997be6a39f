import type { SessionCosts } from './session-costs.ts';

type CostPart = SessionCosts['parts'][number];

export const TOKEN_CLASS_NAMES = {
  input: 'input',
  output: 'output',
  cache_read: 'cache read',
  cache_write: 'cache write',
} as const;

/** Tokens that a part of a session's cost is for, as `cache read >200k`. */
export const toPartName = ({ token_class, is_long_context }: CostPart): string =>
  `${TOKEN_CLASS_NAMES[token_class]}${is_long_context ? ' >200k' : ''}`;

/** Dollars for a million tokens, a range if the rate differs. */
export function toRate({ lowest_rate_usd: lowest, highest_rate_usd: highest }: CostPart): string {
  if (lowest === null || highest === null) return '–';
  const format = (rate: number): string => String(Number(rate.toPrecision(3)));
  // Costs are exact to 1e-10 dollars, so rates of few tokens are less precise.
  return highest - lowest <= highest * 0.02 ? format(highest) : `${format(lowest)} to ${format(highest)}`;
}

/** A part of a session's cost in percent. */
export const toShare = (cost: number, total: number | null): string =>
  total !== null && total > 0 ? `${((100 * cost) / total).toFixed(0)} %` : '–';
