import { randomBytes } from 'node:crypto';
import { canSignIn } from '@recount/contract/access';
import type { Database } from '../database/database.ts';
import { and, desc, eq, gt, inArray, isNull, or, sql } from '../drizzle.cjs';
import { apiKeys, auditLog } from '../schema/workspaces.ts';
import { type Actor, addAuditEntry, toKeyActor } from './audit-log.ts';
import { hashSecret } from './hash-secret.ts';
import { createSignIn, type SignInSecrets } from './sign-ins.ts';
import { holdApiKey, NO_SIGN_IN_LINK } from './workspaces.ts';

const CODE_BYTES = 32;
const CODE_PATTERN = /^[A-Za-z0-9_-]{43}$/;
export interface SignInLinkRequest {
  workspaceId: string;
  keyId: string;
  /** Milliseconds. */
  validMs: number;
  actor: Actor;
  /** The key that makes the link, whose revocation ends it; null if the server itself does, or a command on it. */
  by: string | null;
  /** The end of that key's secret, ISO 8601: no browser stays signed in for longer; null means never. */
  endsAt: string | null;
}

export interface SignInLink {
  /** The only copy. The database stores its SHA-256. */
  code: string;
  expiresAt: string;
}

/**
 * Why a key gets no link: the workspace has none with this id that is valid; it belongs to an account, which signs in
 * with its provider; it cannot read; or it could make keys that outlive the maker of the link.
 */
export type SignInLinkRefusal = 'unknown' | 'account' | 'cannot-read' | 'not-made-by-you';

/**
 * Makes a link that signs a browser in with a key, once. It replaces the key's earlier link, and ends with the key's
 * secret, and with the key that made it.
 */
export async function createSignInLink(
  transaction: Database,
  { workspaceId, keyId, validMs, actor, by, endsAt }: SignInLinkRequest,
): Promise<SignInLink | SignInLinkRefusal> {
  const [key] = await transaction
    .select({ scopes: apiKeys.scopes, issuer: apiKeys.issuer })
    .from(apiKeys)
    .where(and(isKey(workspaceId, keyId), IS_VALID))
    .for('update');
  if (key === undefined) return 'unknown';
  if (key.issuer !== null) return 'account';
  if (!canSignIn(key.scopes)) return 'cannot-read';
  const makesKeys = key.scopes.includes('admin');
  if (makesKeys && by !== null && by !== keyId && !(await isMadeBy(transaction, workspaceId, keyId, by)))
    return 'not-made-by-you';
  const code = randomBytes(CODE_BYTES).toString('base64url');
  const [made] = await transaction
    .update(apiKeys)
    .set({
      sign_in_link_hash: hashSecret(code),
      sign_in_link_by: by,
      sign_in_link_expires_at: sql`least(now() + ${validMs} * interval '1 millisecond', ${apiKeys.expires_at}, ${endsAt}::timestamptz)`,
      sign_in_link_ends_at: endsAt,
    })
    .where(isKey(workspaceId, keyId))
    .returning({ expiresAt: apiKeys.sign_in_link_expires_at });
  const expiresAt = made?.expiresAt ?? null;
  if (expiresAt === null) throw new Error(`The key ${keyId} is held, and gone`);
  const details = { expires_at: expiresAt };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'key.link', subjects: [keyId], details });
  return { code, expiresAt };
}

/** Withdraws the link of a key. Returns false if it has none, or that is used or has expired. */
export async function withdrawSignInLink(
  transaction: Database,
  workspaceId: string,
  keyId: string,
  actor: Actor,
): Promise<boolean> {
  const withdrawn = await transaction
    .update(apiKeys)
    .set(NO_SIGN_IN_LINK)
    .where(and(isKey(workspaceId, keyId), HAS_LINK))
    .returning({ id: apiKeys.id });
  if (withdrawn.length === 0) return false;
  await addAuditEntry(transaction, { workspaceId, actor, action: 'key.unlink', subjects: [keyId] });
  return true;
}

/**
 * Signs a browser in with the code of a link, which is then used up. Undefined if it is unknown, used, withdrawn or
 * expired, or its key or the key that made it has ended.
 */
export async function redeemSignInLink(
  transaction: Database,
  code: string,
  browser: string | null,
): Promise<SignInSecrets | undefined> {
  if (!CODE_PATTERN.test(code)) return undefined;
  const isLink = and(eq(apiKeys.sign_in_link_hash, hashSecret(code)), HAS_LINK, IS_VALID);
  const [found] = await transaction
    .select({ workspaceId: apiKeys.workspace_id, by: apiKeys.sign_in_link_by })
    .from(apiKeys)
    .where(isLink);
  if (found === undefined) return undefined;
  const { workspaceId, by } = found;
  // Before the key, because its revocation takes both in this order.
  if (by !== null && !(await holdApiKey(transaction, workspaceId, by))) return undefined;
  const [key] = await transaction
    .select({ keyId: apiKeys.id, keyHash: apiKeys.key_hash, endsAt: apiKeys.sign_in_link_ends_at })
    .from(apiKeys)
    .where(isLink)
    .for('update');
  if (key === undefined) return undefined;
  const { keyId, keyHash, endsAt } = key;
  await transaction.update(apiKeys).set(NO_SIGN_IN_LINK).where(isKey(workspaceId, keyId));
  return await createSignIn(transaction, { workspaceId, keyId, keyHash, browser, link: { by, endsAt } });
}

/** True if the secret of a key is from that one, which created or last rotated it, so that both are revoked together. */
async function isMadeBy(database: Database, workspaceId: string, keyId: string, by: string): Promise<boolean> {
  const [entry] = await database
    .select({ actor: auditLog.actor })
    .from(auditLog)
    .where(
      and(
        eq(auditLog.workspace_id, workspaceId),
        inArray(auditLog.action, ['key.create', 'key.rotate']),
        eq(sql`${auditLog.subjects}[1]`, keyId),
      ),
    )
    .orderBy(desc(auditLog.id))
    .limit(1);
  return entry?.actor === toKeyActor(by);
}

const isKey = (workspaceId: string, keyId: string) => and(eq(apiKeys.workspace_id, workspaceId), eq(apiKeys.id, keyId));

const IS_VALID = and(isNull(apiKeys.revoked_at), or(isNull(apiKeys.expires_at), gt(apiKeys.expires_at, sql`now()`)));
const HAS_LINK = gt(apiKeys.sign_in_link_expires_at, sql`now()`);
