import type { Database } from '../database/database.ts';
import { getTableColumns, is, PgTable, sql } from '../drizzle.cjs';
import * as schema from '../schema/index.ts';
import { type Actor, addAuditEntry } from './add-audit-entry.ts';

/** The workspace's row is held for so long at most by those who write rows of it. */
const LOCK_TIMEOUT = '10min';

/** Every table with rows of workspaces, so that a new one is not forgotten; but for what is to be deleted from the store. */
const WORKSPACE_TABLES = Object.values(schema).flatMap((value: unknown) =>
  is(value, PgTable) && value !== schema.rawObjectDeletions && 'workspace_id' in getTableColumns(value) ? [value] : [],
);

/**
 * Deletes all rows of a workspace but its own, which with `isFinal` goes as well (its id in the audit log is then all that
 * is left of it), and records the raw objects that they name as to be deleted. Waits for those who write rows of it; they
 * find nothing of it afterwards.
 */
export async function deleteWorkspaceRows(
  transaction: Database,
  workspaceId: string,
  { isFinal, actor }: { isFinal: boolean; actor: Actor },
): Promise<void> {
  await transaction.execute(sql`SET LOCAL lock_timeout = '${sql.raw(LOCK_TIMEOUT)}'`);
  await transaction.execute(sql`SELECT FROM ${schema.workspaces} WHERE id = ${workspaceId} FOR UPDATE`);
  await transaction.execute(sql`SELECT set_config('recount.deleted_workspace', ${workspaceId}, true)`);
  for (const { object_key } of [schema.transcripts, schema.liveStreams]) {
    await transaction.execute(sql`
      INSERT INTO ${schema.rawObjectDeletions} (workspace_id, object_key)
      SELECT ${workspaceId}, ${object_key} FROM ${object_key.table}
      WHERE workspace_id = ${workspaceId} AND ${object_key} IS NOT NULL
      ON CONFLICT DO NOTHING`);
  }
  // Before the documents: who indexes a session for search holds it.
  await transaction.execute(sql`DELETE FROM ${schema.searchIndexState} WHERE workspace_id = ${workspaceId}`);
  for (const table of WORKSPACE_TABLES) {
    await transaction.execute(sql`DELETE FROM ${table} WHERE workspace_id = ${workspaceId}`);
  }
  if (!isFinal) return;
  const { rowCount } = await transaction.execute(sql`DELETE FROM ${schema.workspaces} WHERE id = ${workspaceId}`);
  if (rowCount === 0) return;
  await addAuditEntry(transaction, { workspaceId: '', actor, action: 'workspace.delete', subjects: [workspaceId] });
}
