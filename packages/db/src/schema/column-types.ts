import type { JsonValue } from '@recount/core';
import { bigint, customType, jsonb, numeric, pgSchema } from '../drizzle.cjs';

/** Postgres schema of recount's own tables; analysts' views are in `analytics`. */
export const recountSchema = pgSchema('recount');

/** An id, compared byte by byte, so that ULIDs sort by age whatever the database's collation. */
export const identifier = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });

/** A point in time with milliseconds; ISO 8601 in UTC in TypeScript. */
export const isoTimestamp = customType<{ data: string; driverData: string | Date }>({
  dataType: () => 'timestamp (3) with time zone',
  fromDriver: (value) => new Date(value).toISOString(),
});

/** A count of tokens, or of something as numerous. */
export const tokens = () => bigint({ mode: 'number' }).notNull().default(0);

/** US dollars, exact to 1e-10, the unit of core's sums of costs. */
export const usd = () => numeric({ precision: 20, scale: COST_SCALE, mode: 'number' });
export const COST_SCALE = 10;

export const bytes = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' });

export const jsonObject = () => jsonb().$type<Record<string, unknown>>();

/** Any JSON. drizzle's jsonb would parse a string again when it is read, and turn `"12"` into a number. */
export const jsonValue = customType<{ data: JsonValue }>({
  dataType: () => 'jsonb',
  toDriver: (value) => JSON.stringify(value),
});

/** JSON for a jsonb parameter. Unpaired surrogates, which jsonb rejects, become U+FFFD, as in a text parameter. */
export function toJsonText(value: unknown): string {
  const json = JSON.stringify(value);
  // Only unpaired surrogates are escaped like this. Most values have none, and checking each string would be slow.
  if (!json.includes('\\ud')) return json;
  return JSON.stringify(value, (_key, field: unknown) => (typeof field === 'string' ? field.toWellFormed() : field));
}
