import { createHash, randomBytes } from 'node:crypto';
import type { ApiKeyScope, TextReaders } from '@recount/contract/access';
import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { and, asc, eq, getTableColumns, isNull, or, type SQL, type SQLWrapper, sql } from '../drizzle.cjs';
import { apiKeys, workspaces } from '../schema/workspaces.ts';
import { type Actor, addAuditEntry } from './audit-log.ts';
import { type Enrolment, insertApiKey, NO_SIGN_IN_LINK, type ProviderAccount } from './workspaces.ts';

/** The choices of a workspace about what its readers see. */
export interface ViewPolicy {
  textReaders: TextReaders;
  /** Names are shown in workspaces of at least this many people; null means always. */
  namesFromPeople: number | null;
  /** Secret that pseudonyms are made with. */
  pseudonymSalt: string | null;
}

export interface KeyHolder {
  workspaceId: string;
  keyId: string;
  scopes: ApiKeyScope[];
  person: string | null;
  /** The key's expiry; null means never. */
  expiresAt: string | null;
  /** True if it has expired, by the database's clock. */
  isExpired: boolean;
  /** True if the workspace is the demo. */
  isDemo: boolean;
  policy: ViewPolicy;
}

/** Columns that a holder has from the key's workspace, in a query that joins the two. */
export const OF_WORKSPACE = {
  isDemo: sql<boolean>`${workspaces.demo_ends_at} IS NOT NULL`,
  policy: {
    textReaders: workspaces.text_readers,
    namesFromPeople: workspaces.names_from_people,
    pseudonymSalt: workspaces.pseudonym_salt,
  },
};

/** Undefined if there is no such workspace. */
export async function readViewPolicy(database: Database, workspaceId: string): Promise<ViewPolicy | undefined> {
  const [row] = await database.select(OF_WORKSPACE.policy).from(workspaces).where(eq(workspaces.id, workspaceId));
  return row;
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
      ...OF_WORKSPACE,
    })
    .from(apiKeys)
    .innerJoin(workspaces, eq(workspaces.id, apiKeys.workspace_id))
    .where(and(or(eq(apiKeys.key_hash, keyHash), eq(apiKeys.previous_key_hash, keyHash)), isNull(apiKeys.revoked_at)));
  return row;
}

/** The end of a key's secret with this hash. A rotated key has two. */
export const toSecretEnd = (keyHash: SQLWrapper): SQL<string | null> =>
  sql<
    string | null
  >`CASE ${apiKeys.key_hash} WHEN ${keyHash} THEN ${apiKeys.expires_at} ELSE ${apiKeys.previous_expires_at} END`;

const {
  key_hash: _hash,
  previous_key_hash: _previousHash,
  machine_id: _machineId,
  sign_in_link_hash: _linkHash,
  sign_in_link_by: _linkBy,
  sign_in_link_ends_at: _linkEndsAt,
  sign_in_link_expires_at: linkExpiresAt,
  ...LISTED_COLUMNS
} = getTableColumns(apiKeys);

export interface ApiKeyRow extends Pick<typeof apiKeys.$inferSelect, keyof typeof LISTED_COLUMNS> {
  /** The end of the link that signs in with the key; null if there is none, or it is used or has expired. */
  sign_in_link_expires_at: string | null;
}

/** A workspace's keys in the order of their creation, including revoked ones. */
export async function listApiKeys(database: Database, workspaceId: string): Promise<ApiKeyRow[]> {
  const openUntil = sql<string | null>`CASE WHEN ${linkExpiresAt} > now() AND ${apiKeys.revoked_at} IS NULL
    THEN ${linkExpiresAt} END`;
  return await database
    .select({ ...LISTED_COLUMNS, sign_in_link_expires_at: openUntil.mapWith(linkExpiresAt) })
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
  /** Machines of a key with the scope enrol; null or undefined means any number. */
  machineLimit?: number | null;
  /** The machine that enrolled. */
  enrolment?: Enrolment;
  /** Default `system`. */
  actor?: Actor;
  /** The account at an OpenID provider that signs in with the key. */
  account?: ProviderAccount;
}

/** Creates a key for a workspace. `key` is the only copy. The database stores its SHA-256. */
export async function createApiKey(
  transaction: Database,
  { actor = 'system', ...request }: ApiKeyRequest,
): Promise<{ id: string; key: string }> {
  const id = ulid();
  const { key, keyHash, hint } = drawApiKey();
  const { workspaceId, name, scopes, person = null, expiresAt = null, machineLimit = null } = request;
  await insertApiKey(transaction, { ...request, id, keyHash, hint, scopes: [...scopes] });
  const limit = machineLimit === null ? {} : { machine_limit: machineLimit };
  const details = { name, scopes, person, expires_at: expiresAt, ...limit };
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
 * Gives a key a new secret. Id, name and scopes stay the same, so uploads made with it still belong to it; its link
 * ends. Only the latest of the earlier secrets gets a grace period. Undefined if the workspace has no such key, it is revoked, or it
 * has expired and gets no later expiry, or it is an account's, which has a provider instead of a secret.
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
      ...NO_SIGN_IN_LINK,
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
        isNull(apiKeys.issuer),
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
