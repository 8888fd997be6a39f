import type { Database } from '../database/database.ts';
import { getTableColumns, sql } from '../drizzle.cjs';
import { findings } from '../schema/findings.ts';
import { ROLLUPS } from '../schema/rollup-tables.ts';
import { staleDays } from '../schema/rollups.ts';
import { sessions } from '../schema/transcripts.ts';
import { usageEntries, usageLedger } from '../schema/usage.ts';
import { toDay } from '../usage/stale-days.ts';

/** Deletes derived rows without a source. There are none unless someone edited tables by hand. */
export async function deleteOrphanedUsage(transaction: Database, workspaceId: string): Promise<void> {
  await transaction.execute(sql`
    DELETE FROM ${usageLedger} AS l
    WHERE l.workspace_id = ${workspaceId} AND NOT EXISTS (
      SELECT FROM ${usageEntries} AS e
      WHERE e.workspace_id = l.workspace_id AND e.agent = l.agent AND e.response_key = l.response_key)`);
  const rollups = Object.values(ROLLUPS).flatMap(({ buckets, days }) => (buckets ? [buckets, days] : [days]));
  await transaction.execute(sql`
    INSERT INTO ${staleDays} (workspace_id, day)
    SELECT DISTINCT workspace_id, day FROM (${sql.join(
      rollups.map((table) => {
        const time = 'bucket_start' in getTableColumns(table) ? 'bucket_start' : 'first_bucket_start';
        return sql`SELECT workspace_id, ${toDay(time)} AS day FROM ${table} WHERE workspace_id = ${workspaceId}`;
      }),
      sql` UNION `,
    )}) AS each WHERE day IS NOT NULL`);
  for (const table of [...rollups, findings]) {
    await transaction.execute(sql`
      DELETE FROM ${table} AS r
      WHERE r.workspace_id = ${workspaceId} AND NOT EXISTS (
        SELECT FROM ${sessions} AS s WHERE s.workspace_id = r.workspace_id AND s.session_id = r.session_id)`);
  }
}
