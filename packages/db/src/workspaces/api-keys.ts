import type { Database } from '../database/database.ts';
import { and, asc, eq, getTableColumns, isNull, or, sql } from '../drizzle.cjs';
import { type ApiKeyScope, apiKeys, workspaces } from './schema.ts';

export interface KeyHolder {
  workspaceId: string;
  keyId: string;
  scopes: ApiKeyScope[];
  /** When what was looked up ends; null: never. */
  expiresAt: string | null;
  /** Whether it has ended, by the database's clock. */
  isExpired: boolean;
}

/**
 * Whose key it is, by the SHA-256 of the key; undefined for unknown and revoked ones. What a key was before its rotation is found
 * as well.
 */
export async function findKeyHolder(database: Database, keyHash: string): Promise<KeyHolder | undefined> {
  const end = sql`CASE ${apiKeys.key_hash} WHEN ${keyHash} THEN ${apiKeys.expires_at} ELSE ${apiKeys.previous_expires_at} END`;
  const [row] = await database
    .select({
      workspaceId: apiKeys.workspace_id,
      keyId: apiKeys.id,
      scopes: apiKeys.scopes,
      expiresAt: sql<string | null>`${end}`.mapWith(apiKeys.expires_at),
      isExpired: sql<boolean>`coalesce(${end} <= now(), false)`,
    })
    .from(apiKeys)
    .where(and(or(eq(apiKeys.key_hash, keyHash), eq(apiKeys.previous_key_hash, keyHash)), isNull(apiKeys.revoked_at)));
  return row;
}

export type ApiKeyRow = Omit<typeof apiKeys.$inferSelect, 'key_hash' | 'previous_key_hash'>;

/** A workspace's keys in the order of their creation, revoked ones included. */
export async function listApiKeys(database: Database, workspaceId: string): Promise<ApiKeyRow[]> {
  const { key_hash: _hash, previous_key_hash: _previousHash, ...columns } = getTableColumns(apiKeys);
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
