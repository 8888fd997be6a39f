import { ulid } from 'ulid';
import { type DeliveryRow, enqueueMessages } from '../alerts/deliveries.ts';
import { holdDestinations } from '../alerts/destinations.ts';
import type { Database } from '../database/database.ts';
import { and, asc, eq, isNull, lt, or } from '../drizzle.cjs';
import { digests } from '../schema/digests.ts';
import { type Actor, addAuditEntry } from '../workspaces/audit-log.ts';
import { lockWorkspaceShared } from '../workspaces/workspace-settings.ts';
import type { DigestContent } from './read-digest.ts';

export type DigestRow = typeof digests.$inferSelect;
export type NewDigest = Pick<DigestRow, 'name' | 'period' | 'time_zone' | 'filters' | 'destination_ids'>;

export const MAX_DIGESTS = 50;

const isDigest = (workspaceId: string, id: string) => and(eq(digests.workspace_id, workspaceId), eq(digests.id, id));

/** All digests of a workspace by name. */
export async function listDigests(database: Database, workspaceId: string): Promise<DigestRow[]> {
  return await database.select().from(digests).where(eq(digests.workspace_id, workspaceId)).orderBy(asc(digests.name));
}

/** Undefined if the workspace has no such digest. */
export async function findDigest(database: Database, workspaceId: string, id: string): Promise<DigestRow | undefined> {
  const [row] = await database.select().from(digests).where(isDigest(workspaceId, id));
  return row;
}

/**
 * Does nothing and returns the reason if the workspace has one of that name, as many as are allowed, or no such
 * destination.
 */
export async function createDigest(
  transaction: Database,
  workspaceId: string,
  digest: NewDigest,
  actor: Actor,
): Promise<DigestRow | 'taken' | 'too-many' | 'no-destination'> {
  // A workspace that is being deleted keeps none.
  await lockWorkspaceShared(transaction, workspaceId);
  if ((await listDigests(transaction, workspaceId)).length >= MAX_DIGESTS) return 'too-many';
  if (!(await holdDestinations(transaction, workspaceId, digest.destination_ids))) return 'no-destination';
  const [row] = await transaction
    .insert(digests)
    .values({ ...digest, workspace_id: workspaceId, id: ulid() })
    .onConflictDoNothing()
    .returning();
  if (row === undefined) return 'taken';
  const details = { ...digest };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'digest.create', subjects: [row.id], details });
  return row;
}

/** Undefined if there is no such digest; `taken` if another one has the name; `no-destination` if one is not there. */
export async function changeDigest(
  transaction: Database,
  { workspaceId, id, actor }: { workspaceId: string; id: string; actor: Actor },
  change: Partial<NewDigest>,
): Promise<DigestRow | 'taken' | 'no-destination' | undefined> {
  const [before] = await transaction.select().from(digests).where(isDigest(workspaceId, id)).for('update');
  if (before === undefined) return undefined;
  const namesakes = await listDigests(transaction, workspaceId);
  if (namesakes.some((other) => other.id !== id && other.name === change.name)) return 'taken';
  if (!(await holdDestinations(transaction, workspaceId, change.destination_ids))) return 'no-destination';
  const [row] = await transaction.update(digests).set(change).where(isDigest(workspaceId, id)).returning();
  const from = Object.fromEntries(Object.keys(change).map((key) => [key, before[key as keyof NewDigest]]));
  const details = { from, to: change };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'digest.change', subjects: [id], details });
  return row;
}

/** False if there is none. */
export async function deleteDigest(
  transaction: Database,
  { workspaceId, id, actor }: { workspaceId: string; id: string; actor: Actor },
): Promise<boolean> {
  const [deleted] = await transaction.delete(digests).where(isDigest(workspaceId, id)).returning();
  if (deleted === undefined) return false;
  const details = { name: deleted.name };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'digest.delete', subjects: [id], details });
  return true;
}

/**
 * Puts the messages about a period into the outbox, and notes that it is sent, in one transaction. False, doing nothing,
 * if it or a later one was sent before, or the digest is deleted. Of several processes, one succeeds.
 */
export async function sendDigest(
  transaction: Database,
  { workspace_id, id, destination_ids }: DigestRow,
  content: DigestContent,
): Promise<boolean> {
  const isUnsent = or(isNull(digests.sent_period), lt(digests.sent_period, content.from));
  const rows = await transaction
    .update(digests)
    .set({ sent_period: content.from })
    .where(and(isDigest(workspace_id, id), isUnsent))
    .returning({ id: digests.id });
  if (rows.length === 0) return false;
  const message = { event: 'digest.due', payload: { ...content }, uniqueKey: `digest ${id} ${content.from}` };
  await enqueueMessages(transaction, workspace_id, [message], destination_ids);
  return true;
}

/**
 * Puts the messages about a period into the outbox by hand, whatever was sent before, and does not note that it is sent.
 * Returns them; none if the workspace has no destinations.
 */
export async function sendDigestByHand(
  transaction: Database,
  { workspace_id: workspaceId, id, destination_ids }: DigestRow,
  content: DigestContent,
  actor: Actor,
): Promise<DeliveryRow[]> {
  const message = { event: 'digest.due', payload: { ...content }, uniqueKey: `digest ${id} by hand ${ulid()}` };
  const rows = await enqueueMessages(transaction, workspaceId, [message], destination_ids);
  const details = { from: content.from };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'digest.send', subjects: [id], details });
  return rows;
}
