import { readFile } from 'node:fs/promises';
import type { DatabasePool } from '@recount/db';

export const FLEET_WORKSPACE = '01J0000000000000000000FLEE';

/** Fills the tables that reports read, as ingestion would with that many sessions. */
export async function seedFleet({ pool }: DatabasePool, sessionCount: number): Promise<void> {
  await pool.query('INSERT INTO recount.workspaces (id, name) VALUES ($1, $1)', [FLEET_WORKSPACE]);
  const sql = await readFile(new URL('./seed-fleet.sql', import.meta.url), 'utf8');
  await pool.query(sql.replaceAll('$SESSIONS', String(sessionCount)).replaceAll('$WORKSPACE', FLEET_WORKSPACE));
  await pool.query('VACUUM ANALYZE');
}
