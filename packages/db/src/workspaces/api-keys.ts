import { createHash, randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { and, asc, eq, getTableColumns, isNull, or, type SQL, type SQLWrapper, sql } from '../drizzle.cjs';
import { type ApiKeyScope, apiKeys, workspaces } from '../schema/workspaces.ts';
import { type Actor, addAuditEntry } from './audit-log.ts';
import { insertApiKey } from './workspaces.ts';

export interface KeyHolder {
  workspaceId: string;
  keyId: string;
  scopes: ApiKeyScope[];
  person: string | null;
  /** The key's expiry; null means never. */
  expiresAt: string | null;
  /** True if it has expired, by the database's clock. */
  isExpired: boolean;
}

/**
 * The holder of a key, by its SHA-256; undefined for unknown and revoked keys. A rotated key's previous secret is also
 * found.
 */
export async function findKeyHolder(database: Database, keyHash: string): Promise<KeyHolder | undefined> {
  const end = toSecretEnd(sql`${keyHash}`);
  const [row] = await database
    .select({
      workspaceId: apiKeys.workspace_id,
      keyId: apiKeys.id,
      scopes: apiKeys.scopes,
      person: apiKeys.person,
      expiresAt: sql<string | null>`${end}`.mapWith(apiKeys.expires_at),
      isExpired: sql<boolean>`coalesce(${end} <= now(), false)`,
    })
    .from(apiKeys)
    .where(and(or(eq(apiKeys.key_hash, keyHash), eq(apiKeys.previous_key_hash, keyHash)), isNull(apiKeys.revoked_at)));
  return row;
}

/** The end of a key's secret with this hash. A rotated key has two. */
export const toSecretEnd = (keyHash: SQLWrapper): SQL<string | null> =>
  sql<
    string | null
  >`CASE ${apiKeys.key_hash} WHEN ${keyHash} THEN ${apiKeys.expires_at} ELSE ${apiKeys.previous_expires_at} END`;

export type ApiKeyRow = Omit<typeof apiKeys.$inferSelect, 'key_hash' | 'previous_key_hash'>;

/** A workspace's keys in the order of their creation, including revoked ones. */
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

export async function findWorkspaceName(database: Database, id: string): Promise<string | undefined> {
  const [row] = await database.select({ name: workspaces.name }).from(workspaces).where(eq(workspaces.id, id));
  return row?.name;
}

export async function hasWorkspace(database: Database, id: string): Promise<boolean> {
  const rows = await database.select({ id: workspaces.id }).from(workspaces).where(eq(workspaces.id, id));
  return rows.length > 0;
}

/** The format of all keys; anything else need not be looked up. */
export const API_KEY_PATTERN = /^rk_[A-Za-z0-9_-]{43}$/;

const KEY_BYTES = 32;
const HINT_LENGTH = 4;

interface ApiKeyRequest {
  workspaceId: string;
  name: string;
  scopes: readonly ApiKeyScope[];
  /** The owner of the key; null or undefined means no one in particular. */
  person?: string | null;
  /** ISO 8601; null or undefined means never. */
  expiresAt?: string | null;
  /** Default `system`. */
  actor?: Actor;
}

/** Creates a key for a workspace. `key` is the only copy. The database stores its SHA-256. */
export async function createApiKey(
  transaction: Database,
  { workspaceId, name, scopes, person = null, expiresAt = null, actor = 'system' }: ApiKeyRequest,
): Promise<{ id: string; key: string }> {
  const id = ulid();
  const { key, keyHash, hint } = drawApiKey();
  await insertApiKey(transaction, { workspaceId, id, name, keyHash, hint, scopes: [...scopes], person, expiresAt });
  const details = { name, scopes, person, expires_at: expiresAt };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'key.create', subjects: [id], details });
  return { id, key };
}

/** A new secret, and what the database stores of it. */
function drawApiKey(): { key: string; keyHash: string; hint: string } {
  const key = `rk_${randomBytes(KEY_BYTES).toString('base64url')}`;
  return { key, keyHash: hashApiKey(key), hint: key.slice(-HINT_LENGTH) };
}

/** SHA-256 of a key, hex, for `findKeyHolder`. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

interface KeyRotation {
  /** The time that the previous secret stays valid; 0 means not at all. */
  graceMs: number;
  /** ISO 8601, or null for never; undefined leaves it unchanged. */
  expiresAt?: string | null | undefined;
  actor: Actor;
}

interface RotatedKey {
  /** The new secret; the database stores its SHA-256. */
  key: string;
  expiresAt: string | null;
  /** The expiry of the previous secret; null if it has expired. */
  previousExpiresAt: string | null;
}

/**
 * Gives a key a new secret. Id, name and scopes stay the same, so uploads made with it still belong to it. Only the
 * latest of the earlier secrets gets a grace period. Undefined if the workspace has no such key, it is revoked, or it
 * has expired and gets no later expiry.
 */
export async function rotateApiKey(
  transaction: Database,
  workspaceId: string,
  id: string,
  { graceMs, expiresAt, actor }: KeyRotation,
): Promise<RotatedKey | undefined> {
  const { key, keyHash, hint } = drawApiKey();
  const hasGrace = graceMs > 0;
  const end = expiresAt === undefined ? apiKeys.expires_at : sql`${expiresAt}::timestamptz`;
  const [rotated] = await transaction
    .update(apiKeys)
    .set({
      key_hash: keyHash,
      hint,
      expires_at: sql`${end}`,
      previous_key_hash: hasGrace ? sql`${apiKeys.key_hash}` : null,
      // Not after the previous secret's own expiry.
      previous_expires_at: hasGrace
        ? sql`least(now() + ${graceMs} * interval '1 millisecond', ${apiKeys.expires_at})`
        : null,
    })
    .where(
      and(
        eq(apiKeys.workspace_id, workspaceId),
        eq(apiKeys.id, id),
        isNull(apiKeys.revoked_at),
        sql`(${end} IS NULL OR ${end} > now())`,
      ),
    )
    .returning({ expiresAt: apiKeys.expires_at, previousExpiresAt: apiKeys.previous_expires_at });
  if (rotated === undefined) return undefined;
  const details = { expires_at: rotated.expiresAt, previous_expires_at: rotated.previousExpiresAt };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'key.rotate', subjects: [id], details });
  return { key, ...rotated };
}

/** True if the workspace has this key and it has the scope operator; it cannot change until the transaction ends. */
export async function isOperatorKey(transaction: Database, workspaceId: string, id: string): Promise<boolean> {
  const [key] = await transaction
    .select({ scopes: apiKeys.scopes })
    .from(apiKeys)
    .where(and(eq(apiKeys.workspace_id, workspaceId), eq(apiKeys.id, id)))
    .for('update');
  return key?.scopes.includes('operator') ?? false;
}

/** Gives a key the scope operator if it lacks it. */
export async function makeOperator(transaction: Database, workspaceId: string, id: string): Promise<void> {
  const changed = await transaction
    .update(apiKeys)
    .set({ scopes: sql`array_append(${apiKeys.scopes}, 'operator')` })
    .where(
      and(
        eq(apiKeys.workspace_id, workspaceId),
        eq(apiKeys.id, id),
        isNull(apiKeys.revoked_at),
        sql`NOT 'operator' = ANY(${apiKeys.scopes})`,
      ),
    )
    .returning({ scopes: apiKeys.scopes });
  const [key] = changed;
  if (key === undefined) return;
  const details = { scopes: key.scopes };
  await addAuditEntry(transaction, { workspaceId, actor: 'system', action: 'key.extend', subjects: [id], details });
}
