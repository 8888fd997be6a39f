import type { Database } from '../database.ts';
import { and, asc, eq, getTableColumns, isNull } from '../drizzle.cjs';
import { type ApiKeyScope, apiKeys, workspaces } from '../schema/workspaces.ts';

export interface KeyHolder {
  workspaceId: string;
  keyId: string;
  scopes: ApiKeyScope[];
}

/** Whose key it is, by the SHA-256 of the key; undefined for unknown and revoked ones. */
export async function findKeyHolder(database: Database, keyHash: string): Promise<KeyHolder | undefined> {
  const [row] = await database
    .select({ workspaceId: apiKeys.workspace_id, keyId: apiKeys.id, scopes: apiKeys.scopes })
    .from(apiKeys)
    .where(and(eq(apiKeys.key_hash, keyHash), isNull(apiKeys.revoked_at)));
  return row;
}

export type ApiKeyRow = Omit<typeof apiKeys.$inferSelect, 'key_hash'>;

/** A workspace's keys in the order of their creation, revoked ones included. */
export async function listApiKeys(database: Database, workspaceId: string): Promise<ApiKeyRow[]> {
  const { key_hash: _hash, ...columns } = getTableColumns(apiKeys);
  return await database
    .select(columns)
    .from(apiKeys)
    .where(eq(apiKeys.workspace_id, workspaceId))
    .orderBy(asc(apiKeys.id));
}

export async function findWorkspaceByName(database: Database, name: string): Promise<{ id: string } | undefined> {
  const [row] = await database.select({ id: workspaces.id }).from(workspaces).where(eq(workspaces.name, name));
  return row;
}

export async function hasWorkspace(database: Database, id: string): Promise<boolean> {
  const rows = await database.select({ id: workspaces.id }).from(workspaces).where(eq(workspaces.id, id));
  return rows.length > 0;
}
