/** Tokens of API responses in columns that do not overlap. They add up to all tokens. */
export const TOKEN_CLASSES = ['tokens_in', 'tokens_out', 'cache_read', 'cache_write'] as const;

/** Columns that roll-ups sum: `cache_write_1h` is part of `cache_write`, `thinking_tokens` of `tokens_out`. */
export const SUMMED_TOKENS = [...TOKEN_CLASSES, 'cache_write_1h', 'thinking_tokens'] as const;

/** All token columns of a response, in the order of the tables' columns. */
export const TOKEN_COLUMNS = [...TOKEN_CLASSES, 'cache_write_5m', 'cache_write_1h', 'thinking_tokens'] as const;

/** The cost of responses, and its parts. */
const COST_PARTS = [
  'cost',
  'cost_input',
  'cost_output',
  'cost_cache_read',
  'cost_cache_write',
  'cost_web_search',
] as const;

/** Cost of one response in dollars, by token class. */
export const COST_COLUMNS = COST_PARTS.map((part) => `${part}_usd` as const);

/** Sums of them, in units of 1e-10 dollars. */
export const COST_UNIT_COLUMNS = COST_PARTS.map((part) => `${part}_units` as const);

/** SQL for all tokens of a row with that alias, or of the only table. */
export const sumOfTokens = (alias?: string): string =>
  TOKEN_CLASSES.map((column) => (alias === undefined ? column : `${alias}.${column}`)).join(' + ');

/** A column of the same kind for each of the names, in order. */
export function toColumns<const Name extends string, Column>(
  names: readonly Name[],
  create: () => Column,
): Record<Name, Column> {
  return Object.fromEntries(names.map((name) => [name, create()])) as Record<Name, Column>;
}
