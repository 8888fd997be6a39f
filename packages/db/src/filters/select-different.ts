import { type PgTable, type SQL, sql } from '../drizzle.cjs';

/** A query of a WITH: the values of an indexed key in its order, each once, by looking up the next one again and again. */
export function selectDifferent(
  name: string,
  table: PgTable,
  workspaceId: string,
  { key, value }: { key: SQL; value: SQL },
): SQL {
  const query = sql.raw(name);
  const selectFirst = (condition: SQL): SQL => sql`
    SELECT ${key} AS key, ${value} AS value FROM ${table}
    WHERE workspace_id = ${workspaceId} AND ${condition} ORDER BY ${key} LIMIT 1`;
  return sql`${query} AS (
    (${selectFirst(sql`${key} IS NOT NULL`)})
    UNION ALL
    SELECT next.key, next.value FROM ${query} AS before CROSS JOIN LATERAL (
      ${selectFirst(sql`${key} IS NOT NULL AND ${key} > before.key`)}
    ) AS next
  )`;
}
