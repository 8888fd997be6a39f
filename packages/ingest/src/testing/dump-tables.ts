import type { DatabasePool } from '@recount/db';

/** All contents of the database as text, with every row of every table of every schema, in a fixed order. */
export async function dumpTables({ pool }: Pick<DatabasePool, 'pool'>): Promise<string> {
  const { rows: tables } = await pool.query<{ name: string }>(`
    SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`);
  const dumps: string[] = [];
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`SELECT t::text AS row FROM ${name} AS t ORDER BY 1`);
    dumps.push(...rows.map(({ row }) => `${name} ${row}`));
  }
  return dumps.join('\n');
}
