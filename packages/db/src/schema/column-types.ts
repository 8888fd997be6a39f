import type { JsonValue } from '@recount/core';
import { bigint, customType, jsonb, numeric, pgSchema } from '../drizzle.cjs';

/** Everything of recount's own lives in this Postgres schema; analysts' views in `analytics`, the queue in `pgboss`. */
export const recountSchema = pgSchema('recount');

/** An id: compared byte by byte, so that ULIDs sort by age in any database's collation. */
export const identifier = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });

/** A point in time with milliseconds; ISO 8601 in UTC on the TypeScript side. */
export const isoTimestamp = customType<{ data: string; driverData: string | Date }>({
  dataType: () => 'timestamp (3) with time zone',
  fromDriver: (value) => new Date(value).toISOString(),
});

/** A count of tokens, or of what else may be as many. */
export const tokens = () => bigint({ mode: 'number' }).notNull().default(0);

/** US dollars, exact to 1e-10: the unit in which core sums costs. */
export const usd = () => numeric({ precision: 20, scale: COST_SCALE, mode: 'number' });
export const COST_SCALE = 10;

export const bytes = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' });

export const jsonObject = () => jsonb().$type<Record<string, unknown>>();

/** JSON of any kind. drizzle's jsonb would parse a string once more when it is read, and make a number of `"12"`. */
export const jsonValue = customType<{ data: JsonValue }>({
  dataType: () => 'jsonb',
  toDriver: (value) => JSON.stringify(value),
});

/**
 * JSON for a jsonb parameter. Halves of surrogate pairs, which jsonb refuses, become U+FFFD, as they do in a text
 * parameter.
 */
export function toJsonText(value: unknown): string {
  const json = JSON.stringify(value);
  // Halves are escaped, and only they are, with these: most values have none, and asking for each string takes long.
  if (!json.includes('\\ud')) return json;
  return JSON.stringify(value, (_key, field: unknown) => (typeof field === 'string' ? field.toWellFormed() : field));
}
