import { type PgColumn, type SQL, sql } from '../drizzle.cjs';

/** Each object, list and short text of parsed JSON takes about as much memory, however few bytes it has. */
const VALUE_BYTES = 60;

/** Bytes of a text; 0 for null. Its length is in its header, so the text is not read. */
export const toTextBytes = (column: PgColumn): SQL => sql`coalesce(octet_length(${column}), 0)`;

/**
 * Bytes that JSON takes in memory once it is parsed, about; 0 for null. Commas and brackets in its texts count as values,
 * too.
 */
export const toJsonBytes = (column: PgColumn): SQL => {
  const values = sql`octet_length(json) - octet_length(translate(json, '{[,', ''))`;
  // OFFSET makes Postgres write the text once.
  return sql`coalesce((SELECT octet_length(json) + ${sql.raw(String(VALUE_BYTES))} * (${values})
    FROM (SELECT ${column}::text AS json OFFSET 0) AS written), 0)`;
};
