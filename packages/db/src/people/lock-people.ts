import type { Database } from '../database/database.ts';
import { eq } from '../drizzle.cjs';
import { workspaces } from '../schema/workspaces.ts';
import type { Actor } from '../workspaces/audit-log.ts';

/** The workspace whose people are changed, and who changes them. */
export interface PeopleScope {
  workspaceId: string;
  actor: Actor;
}

/** One change of people and teams at a time. Not `update`, which would wait for running ingestions. */
export async function lockPeople(transaction: Database, workspaceId: string): Promise<void> {
  await transaction
    .select({ id: workspaces.id })
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId))
    .for('no key update');
}
