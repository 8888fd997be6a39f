import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { eq, isNotNull, sql } from '../drizzle.cjs';
import { workspaces } from '../schema/workspaces.ts';
import { type Actor, addAuditEntry } from './audit-log.ts';

export interface DemoWorkspace {
  id: string;
  name: string;
  /** The moment that its transcripts end at, in milliseconds since 1970. */
  endsAtMs: number;
}

/** The demo of the installation; undefined if it has none. */
export async function findDemoWorkspace(database: Database): Promise<DemoWorkspace | undefined> {
  const { id, name, demo_ends_at } = workspaces;
  const [found] = await database
    .select({ id, name, endsAt: demo_ends_at })
    .from(workspaces)
    .where(isNotNull(demo_ends_at))
    .limit(1);
  return found && { id: found.id, name: found.name, endsAtMs: Date.parse(found.endsAt ?? '') };
}

/** Creates the workspace of a demo, with a number after its name if another workspace has that. */
export async function createDemoWorkspace(
  transaction: Database,
  { endsAtMs, actor }: { endsAtMs: number; actor: Actor },
): Promise<DemoWorkspace> {
  for (let number = 1; ; number++) {
    const [id, name] = [ulid(), number === 1 ? 'demo' : `demo ${number}`];
    const demo = { id, name, demo_ends_at: new Date(endsAtMs).toISOString() };
    const created = await transaction
      .insert(workspaces)
      .values(demo)
      .onConflictDoNothing()
      .returning({ id: workspaces.id });
    if (created.length === 0) continue;
    await addAuditEntry(transaction, { workspaceId: id, actor, action: 'workspace.create', subjects: [id] });
    return { id, name, endsAtMs };
  }
}

/** True if the workspace is a demo, which its admins may delete. */
export async function isDemoWorkspace(database: Database, workspaceId: string): Promise<boolean> {
  const [found] = await database
    .select({ isDemo: sql<boolean>`${workspaces.demo_ends_at} IS NOT NULL` })
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId));
  return found?.isDemo ?? false;
}
