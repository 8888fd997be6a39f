import type { Database } from '../database.ts';
import { getTableColumns, is, PgTable, sql } from '../drizzle.cjs';
import * as schema from '../schema/index.ts';

/** The workspace's row is held for so long at most by those who write rows of it. */
const LOCK_TIMEOUT = '10min';

/** Every table with rows of workspaces, so that a new one is not forgotten. */
const WORKSPACE_TABLES = Object.values(schema).flatMap((value: unknown) =>
  is(value, PgTable) && 'workspace_id' in getTableColumns(value) ? [value] : [],
);

/**
 * Deletes all rows of a workspace but its own, which with `isFinal` goes as well. Waits for those who write rows of it;
 * they find nothing of it afterwards.
 */
export async function deleteWorkspaceRows(
  transaction: Database,
  workspaceId: string,
  { isFinal }: { isFinal: boolean },
): Promise<void> {
  await transaction.execute(sql`SET LOCAL lock_timeout = '${sql.raw(LOCK_TIMEOUT)}'`);
  await transaction.execute(sql`SELECT FROM ${schema.workspaces} WHERE id = ${workspaceId} FOR UPDATE`);
  // Before the documents: who indexes a session for search holds it.
  await transaction.execute(sql`DELETE FROM ${schema.searchIndexState} WHERE workspace_id = ${workspaceId}`);
  for (const table of WORKSPACE_TABLES) {
    await transaction.execute(sql`DELETE FROM ${table} WHERE workspace_id = ${workspaceId}`);
  }
  if (isFinal) await transaction.execute(sql`DELETE FROM ${schema.workspaces} WHERE id = ${workspaceId}`);
}
