import type { Database } from '../database/database.ts';
import { and, asc, eq, inArray, sql } from '../drizzle.cjs';
import { alertDeliveries, alertDestinations } from '../schema/alerts.ts';
import { budgets } from '../schema/budgets.ts';
import { digests } from '../schema/digests.ts';
import { type Actor, addAuditEntry } from '../workspaces/audit-log.ts';
import { lockWorkspaceShared } from '../workspaces/workspace-settings.ts';

export type DestinationRow = typeof alertDestinations.$inferSelect;
export type NewDestination = Pick<DestinationRow, 'id' | 'name' | 'kind' | 'hint' | 'secret'>;

export const MAX_DESTINATIONS = 50;

const isDestination = (workspaceId: string, id: string) =>
  and(eq(alertDestinations.workspace_id, workspaceId), eq(alertDestinations.id, id));

/** All destinations of a workspace by name. */
export async function listDestinations(database: Database, workspaceId: string): Promise<DestinationRow[]> {
  return await database
    .select()
    .from(alertDestinations)
    .where(eq(alertDestinations.workspace_id, workspaceId))
    .orderBy(asc(alertDestinations.name));
}

/** Undefined if the workspace has no such destination. */
export async function findDestination(
  database: Database,
  workspaceId: string,
  id: string,
): Promise<DestinationRow | undefined> {
  const [row] = await database.select().from(alertDestinations).where(isDestination(workspaceId, id));
  return row;
}

/** Does nothing and returns the reason if the workspace has one of that name, or as many as are allowed. */
export async function createDestination(
  transaction: Database,
  workspaceId: string,
  destination: NewDestination,
  actor: Actor,
): Promise<DestinationRow | 'taken' | 'too-many'> {
  // A workspace that is being deleted keeps none.
  await lockWorkspaceShared(transaction, workspaceId);
  if ((await listDestinations(transaction, workspaceId)).length >= MAX_DESTINATIONS) return 'too-many';
  const [row] = await transaction
    .insert(alertDestinations)
    .values({ ...destination, workspace_id: workspaceId })
    .onConflictDoNothing()
    .returning();
  if (row === undefined) return 'taken';
  const { id, name, kind, hint } = row;
  const details = { name, kind, hint };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'destination.create', subjects: [id], details });
  return row;
}

/**
 * False if the workspace lacks one of these destinations; null stands for all. Until the transaction ends, none of them
 * can be deleted.
 */
export async function holdDestinations(
  transaction: Database,
  workspaceId: string,
  ids: readonly string[] | null | undefined,
): Promise<boolean> {
  if (ids == null) return true;
  const rows = await transaction
    .select({ id: alertDestinations.id })
    .from(alertDestinations)
    .where(and(eq(alertDestinations.workspace_id, workspaceId), inArray(alertDestinations.id, [...ids])))
    .orderBy(asc(alertDestinations.id))
    .for('key share');
  return rows.length === new Set(ids).size;
}

/** A budget or digest would have no destination left, and its messages would go nowhere. */
export class DestinationInUseError extends Error {
  override name = 'DestinationInUseError';
}

/** Takes a destination from budgets and digests that name it. Throws DestinationInUseError. */
async function removeFromUsers(transaction: Database, workspaceId: string, id: string): Promise<void> {
  for (const [noun, table] of [
    ['budget', budgets],
    ['digest', digests],
  ] as const) {
    const isUser = and(eq(table.workspace_id, workspaceId), sql`${id} = ANY(${table.destination_ids})`);
    const users = await transaction
      .update(table)
      .set({ destination_ids: sql`array_remove(${table.destination_ids}, ${id})` })
      .where(isUser)
      .returning({ name: table.name, left: table.destination_ids });
    const [last] = users.filter(({ left }) => left?.length === 0);
    if (last !== undefined) throw new DestinationInUseError(`The ${noun} ${last.name} has no other destination`);
  }
}

/**
 * Deletes a destination with its messages, also those that wait; false if there is none. Budgets and digests keep their
 * other destinations. Throws DestinationInUseError.
 */
export async function deleteDestination(
  transaction: Database,
  { workspaceId, id, actor }: { workspaceId: string; id: string; actor: Actor },
): Promise<boolean> {
  const [deleted] = await transaction.delete(alertDestinations).where(isDestination(workspaceId, id)).returning();
  if (deleted === undefined) return false;
  await removeFromUsers(transaction, workspaceId, id);
  await transaction
    .delete(alertDeliveries)
    .where(and(eq(alertDeliveries.workspace_id, workspaceId), eq(alertDeliveries.destination_id, id)));
  const details = { name: deleted.name, kind: deleted.kind, hint: deleted.hint };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'destination.delete', subjects: [id], details });
  return true;
}
