import { createHash, randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import type { Database } from '../database.ts';
import type { ApiKeyScope } from '../schema/workspaces.ts';
import { insertApiKey } from './workspaces-and-keys.ts';

/** What every key looks like; anything else is none, and need not be looked up. */
export const API_KEY_PATTERN = /^rk_[A-Za-z0-9_-]{43}$/;

const KEY_BYTES = 32;
const HINT_LENGTH = 4;

/** Creates a key of a workspace. `key` is the only copy: the database has its SHA-256. */
export async function createApiKey(
  database: Database,
  { workspaceId, name, scopes }: { workspaceId: string; name: string; scopes: readonly ApiKeyScope[] },
): Promise<{ id: string; key: string }> {
  const id = ulid();
  const key = `rk_${randomBytes(KEY_BYTES).toString('base64url')}`;
  const hint = key.slice(-HINT_LENGTH);
  await insertApiKey(database, { workspaceId, id, name, keyHash: hashApiKey(key), hint, scopes: [...scopes] });
  return { id, key };
}

/** SHA-256 of a key, hex: what `findKeyHolder` looks up. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
