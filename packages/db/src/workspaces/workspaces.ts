import type { ApiKeyScope } from '@recount/contract/access';
import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { lockWorkspace } from '../database/locks.ts';
import { and, asc, eq, getTableColumns, inArray, is, isNotNull, isNull, PgTable, sql } from '../drizzle.cjs';
import * as schema from '../schema/index.ts';
import { apiKeys, auditLog, signIns, workspaces } from '../schema/workspaces.ts';
import { type Actor, addAuditEntry } from './audit-log.ts';

/** All workspaces by name. */
export async function listWorkspaces(database: Database): Promise<{ id: string; name: string }[]> {
  return await database
    .select({ id: workspaces.id, name: workspaces.name })
    .from(workspaces)
    .orderBy(asc(workspaces.name));
}

export interface WorkspaceSummary {
  id: string;
  name: string;
  created_at: string;
  /** Keys that are neither revoked nor expired. */
  api_key_count: number;
}

/** All workspaces by name, with the number of active keys of each. */
export async function listWorkspaceSummaries(database: Database): Promise<WorkspaceSummary[]> {
  const isValid = sql`${apiKeys.revoked_at} IS NULL AND (${apiKeys.expires_at} IS NULL OR ${apiKeys.expires_at} > now())`;
  return await database
    .select({
      id: workspaces.id,
      name: workspaces.name,
      created_at: workspaces.created_at,
      api_key_count: sql<number>`(count(${apiKeys.id}) FILTER (WHERE ${isValid}))::int`,
    })
    .from(workspaces)
    .leftJoin(apiKeys, eq(apiKeys.workspace_id, workspaces.id))
    .groupBy(workspaces.id, workspaces.name, workspaces.created_at)
    .orderBy(asc(workspaces.name));
}

/** Undefined, doing nothing, if there is a workspace of that name. */
export async function createWorkspace(
  transaction: Database,
  { name, actor }: { name: string; actor: Actor },
): Promise<{ id: string; name: string; created_at: string } | undefined> {
  const id = ulid();
  const { id: idColumn, name: nameColumn, created_at } = workspaces;
  const [created] = await transaction
    .insert(workspaces)
    .values({ id, name })
    .onConflictDoNothing()
    .returning({ id: idColumn, name: nameColumn, created_at });
  if (created === undefined) return undefined;
  await addAuditEntry(transaction, { workspaceId: id, actor, action: 'workspace.create', subjects: [id] });
  return created;
}

/** The workspace that commands use if they name none, and that a local installation creates. */
const DEFAULT_WORKSPACE = 'default';

/**
 * Renames a workspace. Does nothing and returns the reason if another one has that name, there is no such workspace, it
 * is the default one, because a local installation would create that again, empty, or it is the demo, which is deleted
 * after a day, under whatever name.
 */
export async function renameWorkspace(
  transaction: Database,
  id: string,
  name: string,
  actor: Actor,
): Promise<'renamed' | 'taken' | 'unknown' | 'default' | 'demo'> {
  const [own] = await transaction
    .select({ name: workspaces.name, demo_ends_at: workspaces.demo_ends_at })
    .from(workspaces)
    .where(eq(workspaces.id, id))
    .for('update');
  if (own === undefined) return 'unknown';
  if (own.name === name) return 'renamed';
  if (own.name === DEFAULT_WORKSPACE) return 'default';
  if (own.demo_ends_at !== null) return 'demo';
  const [namesake] = await transaction.select({ id: workspaces.id }).from(workspaces).where(eq(workspaces.name, name));
  if (namesake !== undefined) return 'taken';
  await transaction.update(workspaces).set({ name }).where(eq(workspaces.id, id));
  const details = { from: own.name, to: name };
  await addAuditEntry(transaction, { workspaceId: id, actor, action: 'workspace.rename', subjects: [id], details });
  return 'renamed';
}

/** The workspace of that name, created with `id` if there is none. */
export async function ensureWorkspace(
  database: Database,
  id: string,
  name: string,
  actor: Actor = 'system',
): Promise<{ id: string }> {
  const created = await database
    .insert(workspaces)
    .values({ id, name })
    .onConflictDoNothing()
    .returning({ id: workspaces.id });
  if (created.length > 0)
    await addAuditEntry(database, { workspaceId: id, actor, action: 'workspace.create', subjects: [id] });
  const [workspace] = await database.select({ id: workspaces.id }).from(workspaces).where(eq(workspaces.name, name));
  if (workspace === undefined) throw new Error(`Workspace ${name} could not be created`);
  return workspace;
}

interface NewApiKey {
  workspaceId: string;
  id: string;
  name: string;
  /** SHA-256 of the key, hex. */
  keyHash: string;
  hint: string;
  scopes: ApiKeyScope[];
  /** The owner of the key; null means that uploads name their person. */
  person?: string | null;
  /** ISO 8601; null means never. */
  expiresAt?: string | null;
  /** Machines of a key with the scope enrol; null means any number. */
  machineLimit?: number | null;
  /** The machine that enrolled. */
  enrolment?: Enrolment | null;
  /** Undefined for keys whose secret someone has. */
  account?: ProviderAccount;
}

/** The machine of a key that was exchanged for an enrolment key. */
export interface Enrolment {
  /** Id of the enrolment key. */
  enrolledBy: string;
  /** SHA-256, hex. */
  machineId: string;
}

/** A person's account at an OpenID provider. */
export interface ProviderAccount {
  /** URL of the provider. */
  issuer: string;
  /** Id of the account there (`sub`). */
  subject: string;
}

export async function insertApiKey(database: Database, key: NewApiKey): Promise<void> {
  await database.insert(apiKeys).values({
    workspace_id: key.workspaceId,
    id: key.id,
    name: key.name,
    key_hash: key.keyHash,
    hint: key.hint,
    scopes: key.scopes,
    person: key.person ?? null,
    expires_at: key.expiresAt ?? null,
    machine_limit: key.machineLimit ?? null,
    enrolled_by: key.enrolment?.enrolledBy ?? null,
    machine_id: key.enrolment?.machineId ?? null,
    issuer: key.account?.issuer ?? null,
    subject: key.account?.subject ?? null,
  });
}

/** Columns of a key that no link signs in with. */
export const NO_SIGN_IN_LINK = {
  sign_in_link_hash: null,
  sign_in_link_expires_at: null,
  sign_in_link_by: null,
  sign_in_link_ends_at: null,
};

/**
 * Revokes a key, the keys that were made with it, and the sign-ins by links that they made. Returns false if the
 * workspace has no such key, or it was revoked already.
 */
export async function revokeApiKey(
  transaction: Database,
  workspaceId: string,
  id: string,
  actor: Actor = 'system',
): Promise<boolean> {
  const revoked = await transaction
    .update(apiKeys)
    .set({ revoked_at: sql`now()` })
    .where(and(eq(apiKeys.workspace_id, workspaceId), eq(apiKeys.id, id), isNull(apiKeys.revoked_at)))
    .returning({ id: apiKeys.id });
  if (revoked.length === 0) return false;
  const madeIds = await revokeMadeKeys(transaction, workspaceId, id);
  await transaction
    .delete(signIns)
    .where(and(eq(signIns.workspace_id, workspaceId), inArray(signIns.linked_by, [id, ...madeIds])));
  await addAuditEntry(transaction, { workspaceId, actor, action: 'key.revoke', subjects: [id, ...madeIds] });
  return true;
}

/**
 * Lets an account sign in again whose key was revoked. Keys that it had made stay revoked. Returns false if the workspace
 * has no such key, it is not revoked, or it belongs to no account of a provider, so that its secret may be anywhere.
 */
export async function restoreAccountKey(
  transaction: Database,
  workspaceId: string,
  id: string,
  actor: Actor,
): Promise<boolean> {
  const restored = await transaction
    .update(apiKeys)
    .set({ revoked_at: null })
    .where(
      and(
        eq(apiKeys.workspace_id, workspaceId),
        eq(apiKeys.id, id),
        isNotNull(apiKeys.revoked_at),
        isNotNull(apiKeys.issuer),
      ),
    )
    .returning({ id: apiKeys.id });
  if (restored.length === 0) return false;
  await addAuditEntry(transaction, { workspaceId, actor, action: 'key.restore', subjects: [id] });
  return true;
}

/**
 * Revokes the keys that were created with this one, directly or indirectly, so that a stolen key leaves none behind.
 */
async function revokeMadeKeys(transaction: Database, workspaceId: string, id: string): Promise<string[]> {
  const { rows: made } = await transaction.execute<{ id: string }>(sql`
    WITH RECURSIVE origin AS (
      SELECT DISTINCT ON (entry.subjects[1]) entry.subjects[1] AS id, entry.actor FROM ${auditLog} AS entry
      WHERE entry.workspace_id = ${workspaceId} AND entry.action IN ('key.create', 'key.rotate')
      ORDER BY entry.subjects[1], entry.id DESC
    ), made AS (
      SELECT ${id}::text AS id
      UNION
      SELECT origin.id FROM made JOIN origin ON origin.actor = 'key:' || made.id
    )
    SELECT id FROM made`);
  const madeIds = made.map((row) => row.id);
  const revoked = await transaction
    .update(apiKeys)
    .set({ revoked_at: sql`now()` })
    .where(and(eq(apiKeys.workspace_id, workspaceId), inArray(apiKeys.id, madeIds), isNull(apiKeys.revoked_at)))
    .returning({ id: apiKeys.id });
  return revoked.map((row) => row.id).sort();
}

/**
 * True if the key is still valid; prevents its revocation until the end of the transaction. Excludes other holders too:
 * two that share the key and then change keys would wait for each other, on a cluster whichever keys they change.
 */
export async function holdApiKey(transaction: Database, workspaceId: string, id: string): Promise<boolean> {
  const rows = await transaction
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(eq(apiKeys.workspace_id, workspaceId), eq(apiKeys.id, id), isNull(apiKeys.revoked_at)))
    .for('no key update');
  return rows.length > 0;
}

/** Records that a key was used, at most once a minute, because the exact time is not worth a write for each request. */
export async function touchApiKey(database: Database, workspaceId: string, id: string): Promise<void> {
  await database
    .update(apiKeys)
    .set({ last_used_at: sql`now()` })
    .where(
      and(
        eq(apiKeys.workspace_id, workspaceId),
        eq(apiKeys.id, id),
        sql`(${apiKeys.last_used_at} IS NULL OR ${apiKeys.last_used_at} < now() - interval '1 minute')`,
      ),
    );
}

/** Maximum time that writers of its rows hold a workspace. */
const LOCK_TIMEOUT = '10min';

/**
 * Every table with rows of workspaces, derived so that none is forgotten, except the objects to be deleted from the
 * store.
 */
const WORKSPACE_TABLES = Object.values(schema).flatMap((value: unknown) =>
  is(value, PgTable) && value !== schema.rawObjectDeletions && 'workspace_id' in getTableColumns(value) ? [value] : [],
);

/**
 * Deletes all rows of a workspace except its own, which `isFinal` deletes too (only its id in the audit log then
 * remains), and records the raw objects that they name for deletion. Waits for writers of its rows, which find no rows
 * afterwards.
 */
export async function deleteWorkspaceRows(
  transaction: Database,
  workspaceId: string,
  { isFinal, actor }: { isFinal: boolean; actor: Actor },
): Promise<void> {
  await transaction.execute(sql`SET LOCAL lock_timeout = '${sql.raw(LOCK_TIMEOUT)}'`);
  await lockWorkspace(transaction, workspaceId, 'exclusive');
  await transaction.execute(sql`SELECT FROM ${schema.workspaces} WHERE id = ${workspaceId} FOR UPDATE`);
  await transaction.execute(sql`SELECT set_config('recount.deleted_workspace', ${workspaceId}, true)`);
  for (const { object_key } of [schema.transcripts, schema.liveStreams, schema.attachments]) {
    await transaction.execute(sql`
      INSERT INTO ${schema.rawObjectDeletions} (workspace_id, object_key)
      SELECT ${workspaceId}, ${object_key} FROM ${object_key.table}
      WHERE workspace_id = ${workspaceId} AND ${object_key} IS NOT NULL
      ON CONFLICT DO NOTHING`);
  }
  for (const table of WORKSPACE_TABLES) {
    await transaction.execute(sql`DELETE FROM ${table} WHERE workspace_id = ${workspaceId}`);
  }
  if (!isFinal) return;
  const { rowCount } = await transaction.execute(sql`DELETE FROM ${schema.workspaces} WHERE id = ${workspaceId}`);
  if (rowCount === 0) return;
  await addAuditEntry(transaction, { workspaceId: '', actor, action: 'workspace.delete', subjects: [workspaceId] });
}
