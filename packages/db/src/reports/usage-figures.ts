import { toUsageFigures, USAGE_SUMS, type UsageFigures, type UsageSums } from '@recount/core';
import { type SQL, sql } from '../drizzle.cjs';
import { COST_UNIT_COLUMNS } from '../schema/usage-columns.ts';

/** Sums with the names that `sumUsage` gives them. */
type PrefixedSums<P extends Prefix> = Record<`${P}${keyof UsageSums}`, number>;

const PREFIXES = ['', 'own_', 'shared_'] as const;
type Prefix = (typeof PREFIXES)[number];

/** Prefixed names, built once, because building a string for each figure would take longer than the figure itself. */
const PREFIXED = Object.fromEntries(
  PREFIXES.map((prefix) => [prefix, Object.fromEntries(USAGE_SUMS.map((name) => [name, prefix + name]))]),
) as Record<Prefix, Record<keyof UsageSums, string>>;

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

/** The figures of sums whose names begin with `prefix`. */
export function toPrefixedFigures<P extends Prefix>(sums: PrefixedSums<P>, prefix: P): UsageFigures {
  const figures: Partial<UsageSums> = {};
  for (const name of USAGE_SUMS)
    figures[name] = (sums as Readonly<Record<string, number>>)[PREFIXED[prefix][name]] ?? 0;
  return toUsageFigures(figures as UsageSums);
}
