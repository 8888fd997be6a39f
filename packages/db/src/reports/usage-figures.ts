import { type SQL, sql } from '../drizzle.cjs';
import { COST_UNIT_COLUMNS } from '../schema/usage-columns.ts';
import { USAGE_SUMS } from '../usage/rollups.ts';

export type UsageSums = Record<(typeof USAGE_SUMS)[number], number>;

const PREFIXES = ['', 'own_', 'shared_'] as const;
type Prefix = (typeof PREFIXES)[number];

/** Prefixed names, built once: building a string for each figure would take longer than the figure itself. */
const PREFIXED = Object.fromEntries(
  PREFIXES.map((prefix) => [prefix, Object.fromEntries(USAGE_SUMS.map((name) => [name, prefix + name]))]),
) as Record<Prefix, Record<keyof UsageSums, string>>;

interface CostByClass {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  web_search: number;
}

/** Tokens and cost of API responses; costs are exact to 1e-10 up to 900,000, and the nearest number above. */
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
  cost_usd: number | null;
  /** Null if `cost_usd` is. */
  cost_by_class: CostByClass | null;
  unfinalised: { responses: number; tokens_out: number; estimated_tokens_out: number };
  unpriced: { responses: number; tokens: number };
  default_priced_responses: number;
}

export const COST_UNITS_PER_USD = 1e10;

/** Columns of a part that has no usage. */
export const NO_USAGE: Record<string, SQL> = Object.fromEntries(USAGE_SUMS.map((name) => [name, sql`NULL::bigint`]));

/** Sums of costs may exceed bigint. */
const toSum = (name: (typeof USAGE_SUMS)[number], column: SQL): SQL =>
  (COST_UNIT_COLUMNS as readonly string[]).includes(name) ? sql`sum(${column})` : sql`recount.sum_bigint(${column})`;

/** Sums of the roll-up's rows (alias `u`), by column name. */
export const ROLLUP_SUMS: Record<string, SQL> = Object.fromEntries(
  USAGE_SUMS.map((name) => [name, toSum(name, sql`u.${sql.identifier(name)}`)]),
);

/** Sums of the columns by name, each with `prefix`; only over rows that pass `condition`, if given. */
export function sumUsage<P extends Prefix = ''>(
  prefix = '' as P,
  condition?: SQL,
): Record<`${P}${keyof UsageSums}`, SQL> {
  const filter = condition === undefined ? sql`` : sql` FILTER (WHERE ${condition})`;
  return Object.fromEntries(
    USAGE_SUMS.map((name) => [
      `${prefix}${name}`,
      sql`coalesce(${toSum(name, sql`${sql.identifier(name)}`)}${filter}, 0)::float8`,
    ]),
  ) as Record<`${P}${keyof UsageSums}`, SQL>;
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

/** `sums` have the names that sumUsage gave them. */
export function toUsageFigures(sums: UsageSums): UsageFigures;
export function toUsageFigures<P extends Prefix>(
  sums: Record<`${P}${keyof UsageSums}`, number>,
  prefix: P,
): UsageFigures;
export function toUsageFigures(sums: Readonly<Record<string, number>>, prefix: Prefix = ''): UsageFigures {
  const names = PREFIXED[prefix];
  const get = (name: keyof UsageSums): number => sums[names[name]] ?? 0;
  const input = get('tokens_in') + get('cache_read') + get('cache_write');
  const cost = toKnownCost(get('cost_units'), {
    responses: get('responses'),
    unpriced: get('unpriced_responses'),
  });
  return {
    responses: get('responses'),
    tokens_in: get('tokens_in'),
    tokens_out: get('tokens_out'),
    cache_read: get('cache_read'),
    cache_write: get('cache_write'),
    cache_write_1h: get('cache_write_1h'),
    thinking_tokens: get('thinking_tokens'),
    total_tokens: input + get('tokens_out'),
    cache_hit_ratio: input === 0 ? null : get('cache_read') / input,
    web_search_requests: get('web_search_requests'),
    cost_usd: cost,
    cost_by_class:
      cost === null
        ? null
        : {
            input: toUsd(get('cost_input_units')),
            output: toUsd(get('cost_output_units')),
            cache_read: toUsd(get('cost_cache_read_units')),
            cache_write: toUsd(get('cost_cache_write_units')),
            web_search: toUsd(get('cost_web_search_units')),
          },
    unfinalised: {
      responses: get('unfinalised_responses'),
      tokens_out: get('unfinalised_tokens_out'),
      estimated_tokens_out: get('estimated_tokens_out'),
    },
    unpriced: { responses: get('unpriced_responses'), tokens: get('unpriced_tokens') },
    default_priced_responses: get('default_priced_responses'),
  };
}
