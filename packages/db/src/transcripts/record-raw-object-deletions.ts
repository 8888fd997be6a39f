import type { Database } from '../database/database.ts';
import { and, eq, inArray, sql } from '../drizzle.cjs';
import { rawObjectDeletions } from './raw-object-deletions-schema.ts';

/**
 * Records raw objects that nothing names once the transaction is committed. The caller deletes them then, and forgets
 * them; what it does not come to is deleted later. A key with a slash at its end stands for all that begin with it.
 */
export async function recordRawObjectDeletions(
  transaction: Database,
  workspaceId: string,
  objectKeys: readonly string[],
): Promise<void> {
  await transaction.execute(sql`
    INSERT INTO ${rawObjectDeletions} (workspace_id, object_key)
    SELECT ${workspaceId}, unnest(${sql.param([...objectKeys])}::text[])
    ON CONFLICT DO NOTHING`);
}

/** Forgets raw objects that are deleted. */
export async function forgetRawObjectDeletions(
  database: Database,
  workspaceId: string,
  objectKeys: readonly string[],
): Promise<void> {
  if (objectKeys.length === 0) return;
  await database
    .delete(rawObjectDeletions)
    .where(
      and(eq(rawObjectDeletions.workspace_id, workspaceId), inArray(rawObjectDeletions.object_key, [...objectKeys])),
    );
}

/** Forgets all of a workspace, which is deleted with everything in it. */
export async function forgetWorkspaceDeletions(database: Database, workspaceId: string): Promise<void> {
  await database.delete(rawObjectDeletions).where(eq(rawObjectDeletions.workspace_id, workspaceId));
}
