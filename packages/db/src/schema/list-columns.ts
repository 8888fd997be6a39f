import { sql } from '../drizzle.cjs';

/** Names of columns in SQL, each converted by `toSql`. */
export const listColumns = (columns: readonly string[], toSql: (column: string) => string) =>
  sql.raw(columns.map((column) => toSql(`"${column}"`)).join(', '));
