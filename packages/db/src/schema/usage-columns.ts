/** Tokens of API responses, by columns that do not overlap: they add up to all tokens. */
export const TOKEN_CLASSES = ['tokens_in', 'tokens_out', 'cache_read', 'cache_write'] as const;

/** The columns of which roll-ups have sums: `cache_write_1h` is part of `cache_write`, `thinking_tokens` of `tokens_out`. */
export const SUMMED_TOKENS = [...TOKEN_CLASSES, 'cache_write_1h', 'thinking_tokens'] as const;

/** All that is kept of a response, in the order of the tables' columns. */
export const TOKEN_COLUMNS = [...TOKEN_CLASSES, 'cache_write_5m', 'cache_write_1h', 'thinking_tokens'] as const;

/** What responses cost, and the parts of it. */
const COST_PARTS = [
  'cost',
  'cost_input',
  'cost_output',
  'cost_cache_read',
  'cost_cache_write',
  'cost_web_search',
] as const;

/** What one response cost, in dollars by token class. */
export const COST_COLUMNS = COST_PARTS.map((part) => `${part}_usd` as const);

/** Sums of them, in units of 1e-10 dollars. */
export const COST_UNIT_COLUMNS = COST_PARTS.map((part) => `${part}_units` as const);

/** All tokens of a row of that alias, or of the only table, in SQL. */
export const sumOfTokens = (alias?: string): string =>
  TOKEN_CLASSES.map((column) => (alias === undefined ? column : `${alias}.${column}`)).join(' + ');

/** A column of the same kind for each of the names, in their order. */
export function toColumns<const Name extends string, Column>(
  names: readonly Name[],
  create: () => Column,
): Record<Name, Column> {
  return Object.fromEntries(names.map((name) => [name, create()])) as Record<Name, Column>;
}
