import { createHash, randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { and, asc, desc, eq, inArray, isNull, notExists, or, type SQL, sql } from '../drizzle.cjs';
import { apiKeys, signIns } from '../schema/workspaces.ts';
import { type KeyHolder, toSecretEnd } from './api-keys.ts';
import { type Actor, addAuditEntry } from './audit-log.ts';

/** A browser is signed out after this time at the latest. */
export const SIGN_IN_MAX_AGE_S = 30 * 24 * 60 * 60;
/** A browser that is not used for this long is signed out. */
export const SIGN_IN_MAX_IDLE_S = 7 * 24 * 60 * 60;
/** Beyond it, the oldest sign-in of the key ends. */
const MAX_SIGN_INS_PER_KEY = 100;

const SECRET_BYTES = 32;
const COOKIE_PATTERN = /^rks_[A-Za-z0-9_-]{43}$/;

/** The two secrets of a signed-in browser; neither is of use without the other. */
export interface SignInSecrets {
  /** Kept where no script can read it. */
  cookie: string;
  /**
   * Kept by the pages of one origin, which put it into the path of their requests, because the cookie is sent nowhere
   * else.
   */
  page: string;
}

/** The holder of the key that a browser signed in with. */
export interface SignInHolder extends KeyHolder {
  signInId: string;
}

interface NewSignIn {
  workspaceId: string;
  keyId: string;
  /** Hash of the secret that the browser sent. */
  keyHash: string;
  browser: string | null;
}

/** Signs a browser in. The database stores hashes of the secrets only. */
export async function createSignIn(
  transaction: Database,
  { workspaceId, keyId, keyHash, browser }: NewSignIn,
): Promise<SignInSecrets> {
  await dropEndedSignIns(transaction, workspaceId);
  const isOfKey = and(eq(signIns.workspace_id, workspaceId), eq(signIns.key_id, keyId));
  const tooMany = await transaction
    .select({ id: signIns.id })
    .from(signIns)
    .where(isOfKey)
    .orderBy(desc(signIns.id))
    .offset(MAX_SIGN_INS_PER_KEY - 1);
  const ids = tooMany.map(({ id }) => id);
  if (ids.length > 0) await transaction.delete(signIns).where(and(isOfKey, inArray(signIns.id, ids)));
  const cookie = `rks_${randomBytes(SECRET_BYTES).toString('base64url')}`;
  const page = randomBytes(SECRET_BYTES).toString('base64url');
  await transaction.insert(signIns).values({
    ...{ workspace_id: workspaceId, id: ulid(), key_id: keyId, key_hash: keyHash, browser },
    ...{ cookie_hash: hash(cookie), page_hash: hash(page) },
    expires_at: sql`now() + ${SIGN_IN_MAX_AGE_S} * interval '1 second'`,
  });
  return { cookie, page };
}

/** The holder of a sign-in; undefined if it is unknown or has ended, by itself or with its key's secret. */
export async function findSignInHolder(database: Database, secrets: SignInSecrets): Promise<SignInHolder | undefined> {
  if (!COOKIE_PATTERN.test(secrets.cookie)) return undefined;
  const [row] = await database
    .select({
      signInId: signIns.id,
      workspaceId: signIns.workspace_id,
      keyId: apiKeys.id,
      scopes: apiKeys.scopes,
      person: apiKeys.person,
      expiresAt: KEY_END.mapWith(apiKeys.expires_at),
      isExpired: sql<boolean>`false`,
    })
    .from(signIns)
    .innerJoin(apiKeys, IS_KEY)
    .where(and(hasSecrets(secrets), IS_VALID));
  return row;
}

export interface SignInRow {
  id: string;
  key_id: string;
  key_name: string;
  browser: string | null;
  created_at: string;
  last_used_at: string;
  expires_at: string;
}

/** The signed-in browsers of a workspace, in the order of their sign-ins. */
export async function listSignIns(database: Database, workspaceId: string): Promise<SignInRow[]> {
  const { id, key_id, browser, created_at, last_used_at } = signIns;
  const end = sql<string>`least(${signIns.expires_at}, ${IDLE_END}, ${KEY_END})`.mapWith(signIns.expires_at);
  return await database
    .select({ id, key_id, key_name: apiKeys.name, browser, created_at, last_used_at, expires_at: end })
    .from(signIns)
    .innerJoin(apiKeys, IS_KEY)
    .where(and(eq(signIns.workspace_id, workspaceId), IS_VALID))
    .orderBy(asc(signIns.id));
}

/** Signs a browser out that asks for it. */
export async function signOut(database: Database, secrets: SignInSecrets): Promise<void> {
  await database.delete(signIns).where(hasSecrets(secrets));
}

/** Signs another browser out, with an audit entry. Returns false if the workspace has no such sign-in. */
export async function endSignIn(
  transaction: Database,
  workspaceId: string,
  id: string,
  actor: Actor,
): Promise<boolean> {
  const [ended] = await transaction
    .delete(signIns)
    .where(and(eq(signIns.workspace_id, workspaceId), eq(signIns.id, id)))
    .returning({ keyId: signIns.key_id });
  if (ended === undefined) return false;
  await addAuditEntry(transaction, { workspaceId, actor, action: 'sign-in.end', subjects: [id, ended.keyId] });
  return true;
}

/** Records that a sign-in was used, at most once a minute. */
export async function touchSignIn(database: Database, workspaceId: string, id: string): Promise<void> {
  await database
    .update(signIns)
    .set({ last_used_at: sql`now()` })
    .where(
      and(
        eq(signIns.workspace_id, workspaceId),
        eq(signIns.id, id),
        sql`${signIns.last_used_at} < now() - interval '1 minute'`,
      ),
    );
}

async function dropEndedSignIns(transaction: Database, workspaceId: string): Promise<void> {
  const key = transaction.select({ id: apiKeys.id }).from(apiKeys).where(and(IS_KEY, HAS_VALID_KEY));
  await transaction
    .delete(signIns)
    .where(and(eq(signIns.workspace_id, workspaceId), or(sql`NOT (${IS_IN_TIME})`, notExists(key))));
}

const hash = (secret: string): string => createHash('sha256').update(secret).digest('hex');

const hasSecrets = ({ cookie, page }: SignInSecrets): SQL | undefined =>
  and(eq(signIns.cookie_hash, hash(cookie)), eq(signIns.page_hash, hash(page)));

/** The key still has the secret that the browser signed in with. */
const IS_KEY = and(
  eq(apiKeys.workspace_id, signIns.workspace_id),
  eq(apiKeys.id, signIns.key_id),
  or(eq(apiKeys.key_hash, signIns.key_hash), eq(apiKeys.previous_key_hash, signIns.key_hash)),
);
const KEY_END = toSecretEnd(signIns.key_hash);
const IDLE_END = sql`${signIns.last_used_at} + ${sql.raw(String(SIGN_IN_MAX_IDLE_S))} * interval '1 second'`;
const IS_IN_TIME = sql`${signIns.expires_at} > now() AND ${IDLE_END} > now()`;
const HAS_VALID_KEY = and(isNull(apiKeys.revoked_at), sql`coalesce(${KEY_END} > now(), true)`);
const IS_VALID = and(HAS_VALID_KEY, IS_IN_TIME);
