import { createHash, randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { type Actor, addAuditEntry } from './add-audit-entry.ts';
import type { ApiKeyScope } from './schema.ts';
import { insertApiKey } from './workspaces-and-keys.ts';

/** What every key looks like; anything else is none, and need not be looked up. */
export const API_KEY_PATTERN = /^rk_[A-Za-z0-9_-]{43}$/;

const KEY_BYTES = 32;
const HINT_LENGTH = 4;

export interface ApiKeyRequest {
  workspaceId: string;
  name: string;
  scopes: readonly ApiKeyScope[];
  /** ISO 8601; left out or null: never. */
  expiresAt?: string | null;
  /** Default `system`. */
  actor?: Actor;
}

/** Creates a key of a workspace. `key` is the only copy: the database has its SHA-256. */
export async function createApiKey(
  transaction: Database,
  { workspaceId, name, scopes, expiresAt = null, actor = 'system' }: ApiKeyRequest,
): Promise<{ id: string; key: string }> {
  const id = ulid();
  const { key, keyHash, hint } = drawApiKey();
  await insertApiKey(transaction, { workspaceId, id, name, keyHash, hint, scopes: [...scopes], expiresAt });
  const details = { name, scopes, expires_at: expiresAt };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'key.create', subjects: [id], details });
  return { id, key };
}

/** A new secret, and what the database has of it. */
export function drawApiKey(): { key: string; keyHash: string; hint: string } {
  const key = `rk_${randomBytes(KEY_BYTES).toString('base64url')}`;
  return { key, keyHash: hashApiKey(key), hint: key.slice(-HINT_LENGTH) };
}

/** SHA-256 of a key, hex: what `findKeyHolder` looks up. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
