import type { Database } from '../database/database.ts';
import { and, eq, isNull, sql } from '../drizzle.cjs';
import { type Actor, addAuditEntry } from './add-audit-entry.ts';
import { type ApiKeyScope, apiKeys, workspaces } from './schema.ts';

/** The workspace of that name, created with `id` where there is none. */
export async function ensureWorkspace(
  database: Database,
  id: string,
  name: string,
  actor: Actor = 'system',
): Promise<{ id: string }> {
  const created = await database
    .insert(workspaces)
    .values({ id, name })
    .onConflictDoNothing()
    .returning({ id: workspaces.id });
  if (created.length > 0)
    await addAuditEntry(database, { workspaceId: id, actor, action: 'workspace.create', subjects: [id] });
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
  /** ISO 8601; null: never. */
  expiresAt?: string | null;
}

export async function insertApiKey(database: Database, key: NewApiKey): Promise<void> {
  await database.insert(apiKeys).values({
    workspace_id: key.workspaceId,
    id: key.id,
    name: key.name,
    key_hash: key.keyHash,
    hint: key.hint,
    scopes: key.scopes,
    expires_at: key.expiresAt ?? null,
  });
}

/** Returns false where the workspace has no such key, or it is revoked already. */
export async function revokeApiKey(
  transaction: Database,
  workspaceId: string,
  id: string,
  actor: Actor = 'system',
): Promise<boolean> {
  const revoked = await transaction
    .update(apiKeys)
    .set({ revoked_at: sql`now()` })
    .where(and(eq(apiKeys.workspace_id, workspaceId), eq(apiKeys.id, id), isNull(apiKeys.revoked_at)))
    .returning({ id: apiKeys.id });
  if (revoked.length === 0) return false;
  await addAuditEntry(transaction, { workspaceId, actor, action: 'key.revoke', subjects: [id] });
  return true;
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
