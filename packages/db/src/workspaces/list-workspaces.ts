import type { Database } from '../database/database.ts';
import { asc } from '../drizzle.cjs';
import { workspaces } from './schema.ts';

/** All workspaces by name. */
export async function listWorkspaces(database: Database): Promise<{ id: string; name: string }[]> {
  return await database
    .select({ id: workspaces.id, name: workspaces.name })
    .from(workspaces)
    .orderBy(asc(workspaces.name));
}
