import { randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { and, asc, desc, eq, inArray, isNull, notExists, or, type SQL, sql } from '../drizzle.cjs';
import { apiKeys, signIns, workspaces } from '../schema/workspaces.ts';
import { type KeyHolder, OF_WORKSPACE, toSecretEnd } from './api-keys.ts';
import { type Actor, addAuditEntry, toKeyActor } from './audit-log.ts';
import { hashSecret } from './hash-secret.ts';
import { holdApiKey } from './workspaces.ts';

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
  /** Null for a sign-in with a key or a link. */
  provider: SignInProvider | null;
}

/** The OpenID provider of a sign-in. */
export interface SignInProvider {
  /** As in the settings. */
  id: string;
  /** Time since the provider confirmed the account; null if it cannot be asked. */
  uncheckedMs: number | null;
  /** Encrypted; null if there are none. */
  sealedTokens: string | null;
}

interface NewSignIn {
  workspaceId: string;
  keyId: string;
  /** Hash of the secret that the browser sent. */
  keyHash: string;
  browser: string | null;
  /** The link that it signs in with: the key that made it, and the end of that key's secret (ISO 8601), which null leaves out. */
  link?: { by: string | null; endsAt: string | null };
  /** Undefined for a sign-in with a key or a link. */
  provider?: {
    id: string;
    /** True if the provider can be asked later. */
    isCheckable: boolean;
    maxAgeS: number;
    /** Encrypts the provider's tokens for the sign-in with this id. */
    seal(signInId: string): string;
    /** For the audit log. */
    role: string | null;
  };
}

/**
 * Signs a browser in, with an audit entry unless it has the key itself. The database stores hashes of the secrets only.
 */
export async function createSignIn(
  transaction: Database,
  { workspaceId, keyId, keyHash, browser, link, provider }: NewSignIn,
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
  const id = ulid();
  await transaction.insert(signIns).values({
    ...{ workspace_id: workspaceId, id, key_id: keyId, key_hash: keyHash, browser },
    ...{ cookie_hash: hashSecret(cookie), page_hash: hashSecret(page), linked_by: link?.by ?? null },
    ...(provider !== undefined && {
      provider: provider.id,
      sealed_tokens: provider.seal(id),
      checked_at: provider.isCheckable ? sql`now()` : null,
    }),
    expires_at: sql`least(now() + ${provider?.maxAgeS ?? SIGN_IN_MAX_AGE_S} * interval '1 second', ${link?.endsAt ?? null}::timestamptz)`,
  });
  if (provider !== undefined || link !== undefined) {
    const details = provider === undefined ? { link_by: link?.by } : { provider: provider.id, role: provider.role };
    const actor = toKeyActor(keyId);
    await addAuditEntry(transaction, { workspaceId, actor, action: 'sign-in.create', subjects: [id, keyId], details });
  }
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
      providerId: signIns.provider,
      sealedTokens: signIns.sealed_tokens,
      uncheckedMs: sql<number | null>`(extract(epoch FROM now() - ${signIns.checked_at}) * 1000)::float8`,
      ...OF_WORKSPACE,
    })
    .from(signIns)
    .innerJoin(apiKeys, IS_KEY)
    .innerJoin(workspaces, eq(workspaces.id, signIns.workspace_id))
    .where(and(hasSecrets(secrets), IS_VALID));
  if (row === undefined) return undefined;
  const { providerId, sealedTokens, uncheckedMs, ...holder } = row;
  return { ...holder, provider: providerId === null ? null : { id: providerId, sealedTokens, uncheckedMs } };
}

/**
 * Takes the right to check a sign-in with its provider, so that a refresh token is used once, and an account's answers
 * are stored in their order. Says `busy` while this or another sign-in of the account is being checked, for at most
 * `maxMs`, and `done` if the sign-in was checked since the holder was read, or has ended.
 */
export async function claimSignInCheck(
  transaction: Database,
  { workspaceId, signInId, keyId, provider }: SignInHolder,
  maxMs: number,
): Promise<'claimed' | 'busy' | 'done'> {
  if (!(await holdApiKey(transaction, workspaceId, keyId))) return 'done';
  const [running] = await transaction
    .select({ id: signIns.id })
    .from(signIns)
    .where(
      and(
        ...[eq(signIns.workspace_id, workspaceId), eq(signIns.key_id, keyId)],
        sql`${signIns.check_started_at} >= now() - ${maxMs} * interval '1 millisecond'`,
      ),
    )
    .limit(1);
  if (running !== undefined) return 'busy';
  const claimed = await transaction
    .update(signIns)
    .set({ check_started_at: sql`now()` })
    .where(and(isSignIn(workspaceId, signInId), eq(signIns.sealed_tokens, provider?.sealedTokens ?? '')))
    .returning({ id: signIns.id });
  return claimed.length > 0 ? 'claimed' : 'done';
}

/** Ends a check: stores new tokens if the provider confirmed the account, and otherwise lets the next request check again. */
export async function storeSignInCheck(
  database: Database,
  { workspaceId, signInId }: Pick<SignInHolder, 'workspaceId' | 'signInId'>,
  sealedTokens: string | undefined,
): Promise<void> {
  const confirmed = sealedTokens === undefined ? {} : { sealed_tokens: sealedTokens, checked_at: sql`now()` };
  await database
    .update(signIns)
    .set({ check_started_at: null, ...confirmed })
    .where(isSignIn(workspaceId, signInId));
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
  const end = sql<string>`least(${signIns.expires_at}, ${signIns.last_used_at} + ${IDLE_TIME}, ${KEY_END})`.mapWith(
    signIns.expires_at,
  );
  return await database
    .select({ id, key_id, key_name: apiKeys.name, browser, created_at, last_used_at, expires_at: end })
    .from(signIns)
    .innerJoin(apiKeys, IS_KEY)
    .where(and(eq(signIns.workspace_id, workspaceId), IS_VALID))
    .orderBy(asc(signIns.id));
}

/** A sign-in that has ended, with what its provider has to know. */
export interface EndedSignIn {
  workspaceId: string;
  signInId: string;
  provider: string;
  sealedTokens: string;
}

/**
 * Signs a browser out that asks for it. Returns the sign-in if a provider vouched for it, and adds an audit entry.
 */
export async function signOut(transaction: Database, secrets: SignInSecrets): Promise<EndedSignIn | undefined> {
  const { workspace_id, id, key_id, provider, sealed_tokens } = signIns;
  const [ended] = await transaction
    .delete(signIns)
    .where(hasSecrets(secrets))
    .returning({ workspaceId: workspace_id, signInId: id, keyId: key_id, provider, sealedTokens: sealed_tokens });
  if (ended === undefined || ended.provider === null || ended.sealedTokens === null) return undefined;
  const { workspaceId, signInId, keyId } = ended;
  const subjects = [signInId, keyId];
  const details = { provider: ended.provider };
  const actor = toKeyActor(keyId);
  await addAuditEntry(transaction, { workspaceId, actor, action: 'sign-in.end', subjects, details });
  return { workspaceId, signInId, provider: ended.provider, sealedTokens: ended.sealedTokens };
}

/**
 * Signs another browser out, with an audit entry. Returns false if the workspace has no such sign-in.
 *
 * @param details why recount ends it
 */
export async function endSignIn(
  transaction: Database,
  workspaceId: string,
  id: string,
  actor: Actor,
  details: { provider: string; reason: string } | Record<string, never> = {},
): Promise<boolean> {
  const [ended] = await transaction
    .delete(signIns)
    .where(isSignIn(workspaceId, id))
    .returning({ keyId: signIns.key_id });
  if (ended === undefined) return false;
  const subjects = [id, ended.keyId];
  await addAuditEntry(transaction, { workspaceId, actor, action: 'sign-in.end', subjects, details });
  return true;
}

/** Records that a sign-in was used, at most once a minute. One that has ended since then stays ended. */
export async function touchSignIn(database: Database, workspaceId: string, id: string): Promise<void> {
  await database
    .update(signIns)
    .set({ last_used_at: sql`now()` })
    .where(and(isSignIn(workspaceId, id), IS_IN_TIME, sql`${signIns.last_used_at} < now() - interval '1 minute'`));
}

async function dropEndedSignIns(transaction: Database, workspaceId: string): Promise<void> {
  const key = transaction.select({ id: apiKeys.id }).from(apiKeys).where(and(IS_KEY, HAS_VALID_KEY));
  // A cluster deletes only by what does not depend on the clock.
  const ended = await transaction
    .select({ id: signIns.id })
    .from(signIns)
    .where(and(eq(signIns.workspace_id, workspaceId), or(sql`NOT (${IS_IN_TIME})`, notExists(key))));
  const ids = ended.map(({ id }) => id);
  if (ids.length === 0) return;
  await transaction.delete(signIns).where(and(eq(signIns.workspace_id, workspaceId), inArray(signIns.id, ids)));
}

const isSignIn = (workspaceId: string, id: string): SQL | undefined =>
  and(eq(signIns.workspace_id, workspaceId), eq(signIns.id, id));

const hasSecrets = ({ cookie, page }: SignInSecrets): SQL | undefined =>
  and(eq(signIns.cookie_hash, hashSecret(cookie)), eq(signIns.page_hash, hashSecret(page)));

/** The key still has the secret that the browser signed in with. */
const IS_KEY = and(
  eq(apiKeys.workspace_id, signIns.workspace_id),
  eq(apiKeys.id, signIns.key_id),
  or(eq(apiKeys.key_hash, signIns.key_hash), eq(apiKeys.previous_key_hash, signIns.key_hash)),
);
const KEY_END = toSecretEnd(signIns.key_hash);
const IDLE_TIME = sql`${sql.raw(String(SIGN_IN_MAX_IDLE_S))} * interval '1 second'`;
const IS_IN_TIME = sql`${signIns.expires_at} > now() AND ${signIns.last_used_at} > now() - ${IDLE_TIME}`;
const HAS_VALID_KEY = and(isNull(apiKeys.revoked_at), sql`coalesce(${KEY_END} > now(), true)`);
const IS_VALID = and(HAS_VALID_KEY, IS_IN_TIME);
