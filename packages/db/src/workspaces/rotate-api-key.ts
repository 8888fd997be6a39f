import type { Database } from '../database/database.ts';
import { and, eq, isNull, sql } from '../drizzle.cjs';
import { type Actor, addAuditEntry } from './add-audit-entry.ts';
import { drawApiKey } from './create-api-key.ts';
import { apiKeys } from './schema.ts';

export interface KeyRotation {
  /** For how long the secret of before is valid besides; 0: no longer. */
  graceMs: number;
  /** ISO 8601, or null for never; left out, it stays as it is. */
  expiresAt?: string | null | undefined;
  actor: Actor;
}

export interface RotatedKey {
  /** The new secret; the database has its SHA-256. */
  key: string;
  expiresAt: string | null;
  /** When the secret of before ends; null where it has ended. */
  previousExpiresAt: string | null;
}

/**
 * Gives a key a new secret; id, name and scopes stay, so that what was uploaded with it stays its own. Of the secrets of before, only
 * the latest has a grace. Undefined where the workspace has no such key, it is revoked, or it has expired and is given no later end.
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
      // Not later than what was before would have ended.
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
