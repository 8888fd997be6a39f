import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { sessions } from '../transcripts/schema.ts';
import { ROLLUPS } from './rollups-schema.ts';
import { usageEntries, usageLedger } from './schema.ts';

/** Deletes derived rows that nothing stands behind: there are none unless somebody changed tables by hand. */
export async function deleteOrphanedUsage(transaction: Database, workspaceId: string): Promise<void> {
  await transaction.execute(sql`
    DELETE FROM ${usageLedger} AS l
    WHERE l.workspace_id = ${workspaceId} AND NOT EXISTS (
      SELECT FROM ${usageEntries} AS e
      WHERE e.workspace_id = l.workspace_id AND e.agent = l.agent AND e.response_key = l.response_key)`);
  for (const table of Object.values(ROLLUPS).flatMap(({ quarters, days }) => (quarters ? [quarters, days] : [days]))) {
    await transaction.execute(sql`
      DELETE FROM ${table} AS r
      WHERE r.workspace_id = ${workspaceId} AND NOT EXISTS (
        SELECT FROM ${sessions} AS s WHERE s.workspace_id = r.workspace_id AND s.session_id = r.session_id)`);
  }
}
