import type { Database } from '../database.ts';
import { and, eq, isNull, sql } from '../drizzle.cjs';
import { type ApiKeyScope, apiKeys, workspaces } from '../schema/workspaces.ts';

/** The workspace of that name, created with `id` where there is none. */
export async function ensureWorkspace(database: Database, id: string, name: string): Promise<{ id: string }> {
  await database.insert(workspaces).values({ id, name }).onConflictDoNothing();
  const [workspace] = await database.select({ id: workspaces.id }).from(workspaces).where(eq(workspaces.name, name));
  if (workspace === undefined) throw new Error(`Workspace ${name} could not be created`);
  return workspace;
}

export interface NewApiKey {
  workspaceId: string;
  id: string;
  name: string;
  /** SHA-256 of the key, hex. */
  keyHash: string;
  hint: string;
  scopes: ApiKeyScope[];
}

export async function insertApiKey(database: Database, key: NewApiKey): Promise<void> {
  await database.insert(apiKeys).values({
    workspace_id: key.workspaceId,
    id: key.id,
    name: key.name,
    key_hash: key.keyHash,
    hint: key.hint,
    scopes: key.scopes,
  });
}

/** Returns false where the workspace has no such key, or it is revoked already. */
export async function revokeApiKey(database: Database, workspaceId: string, id: string): Promise<boolean> {
  const revoked = await database
    .update(apiKeys)
    .set({ revoked_at: sql`now()` })
    .where(and(eq(apiKeys.workspace_id, workspaceId), eq(apiKeys.id, id), isNull(apiKeys.revoked_at)))
    .returning({ id: apiKeys.id });
  return revoked.length > 0;
}

/** Notes that a key was used, at most once a minute: the exact moment is not worth a write per request. */
export async function touchApiKey(database: Database, workspaceId: string, id: string): Promise<void> {
  await database
    .update(apiKeys)
    .set({ last_used_at: sql`now()` })
    .where(
      and(
        eq(apiKeys.workspace_id, workspaceId),
        eq(apiKeys.id, id),
        sql`(${apiKeys.last_used_at} IS NULL OR ${apiKeys.last_used_at} < now() - interval '1 minute')`,
      ),
    );
}
