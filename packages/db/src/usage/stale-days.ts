import type { Database } from '../database/database.ts';
import { type PgTable, type SQL, sql } from '../drizzle.cjs';
import { staleDays } from '../schema/rollups.ts';

/** The start of the UTC day of a row of a roll-up or of totals. */
export const toDay = (column: string): SQL => sql.raw(`date_bin('1 day', ${column}, '2000-01-01Z')`);

export const toDays = (days: readonly string[]): SQL => sql`${sql.param([...days])}::timestamptz[]`;

/**
 * For a FROM clause, as `d`, with a table's rows on some UTC days, found by an index on the workspace and the time
 * column.
 */
export const fromDays = (table: PgTable, column: string, workspaceId: string, days: readonly string[]): SQL => {
  const time = sql.raw(`t.${column}`);
  return sql`(SELECT DISTINCT start FROM unnest(${toDays(days)}) AS start) AS day CROSS JOIN LATERAL (
    SELECT * FROM ${table} AS t
    WHERE t.workspace_id = ${workspaceId} AND ${time} >= day.start AND ${time} < day.start + interval '24 hours' OFFSET 0
  ) AS d`;
};

/** Marks the totals of some UTC days as stale once the transaction commits. */
export async function markStaleDays(
  transaction: Database,
  workspaceId: string,
  days: readonly string[],
): Promise<void> {
  if (days.length === 0) return;
  await transaction.execute(sql`
    INSERT INTO ${staleDays} (workspace_id, day)
    SELECT ${workspaceId}, day FROM (SELECT DISTINCT unnest(${toDays(days)}) AS day) AS each`);
}

/** The UTC days where the workspace's totals are stale, each once, at most `limit` of them. */
export async function listStaleDays(database: Database, workspaceId: string, limit: number): Promise<string[]> {
  const { rows } = await database.execute<{ day: string }>(sql`
    SELECT DISTINCT day::text AS day FROM ${staleDays} WHERE workspace_id = ${workspaceId} LIMIT ${limit}`);
  return rows.map(({ day }) => day);
}
