import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { and, asc, desc, eq, inArray, lt, lte, ne, sql } from '../drizzle.cjs';
import { alertDeliveries, alertDestinations, type DeliveryState } from '../schema/alerts.ts';
import { type Actor, addAuditEntry } from '../workspaces/audit-log.ts';

export type DeliveryRow = typeof alertDeliveries.$inferSelect;

export interface NewMessage {
  event: string;
  payload: Record<string, unknown>;
  /** Two messages with the same key to one destination are one. */
  uniqueKey: string;
}

/**
 * Puts messages into the outbox for each of the destinations, or all of the workspace. Call it in the transaction of
 * their cause, so that neither is stored without the other.
 */
export async function enqueueMessages(
  transaction: Database,
  workspaceId: string,
  messages: readonly NewMessage[],
  destinationIds?: readonly string[] | null,
): Promise<DeliveryRow[]> {
  if (messages.length === 0) return [];
  const destinations = await transaction
    .select({ id: alertDestinations.id })
    .from(alertDestinations)
    .where(
      and(
        eq(alertDestinations.workspace_id, workspaceId),
        destinationIds == null ? undefined : inArray(alertDestinations.id, [...destinationIds]),
      ),
    )
    .orderBy(asc(alertDestinations.id))
    // A destination that is being deleted gets none.
    .for('key share');
  const rows = destinations.flatMap(({ id: destination_id }) =>
    messages.map(({ event, payload, uniqueKey }) => ({
      ...{ workspace_id: workspaceId, id: ulid(), destination_id, event, payload, unique_key: uniqueKey },
    })),
  );
  if (rows.length === 0) return [];
  return await transaction.insert(alertDeliveries).values(rows).onConflictDoNothing().returning();
}

const isDelivery = ({ workspace_id, id }: Pick<DeliveryRow, 'workspace_id' | 'id'>) =>
  and(eq(alertDeliveries.workspace_id, workspace_id), eq(alertDeliveries.id, id));

const isDue = (workspaceId: string, now: string) =>
  and(
    eq(alertDeliveries.workspace_id, workspaceId),
    eq(alertDeliveries.state, 'waiting'),
    lte(alertDeliveries.next_attempt_at, now),
  );

/** Ids of destinations with messages whose next attempt is due. */
export async function listDueDestinations(database: Database, workspaceId: string, now: string): Promise<string[]> {
  const rows = await database
    .select({ id: alertDeliveries.destination_id })
    .from(alertDeliveries)
    .where(isDue(workspaceId, now))
    .groupBy(alertDeliveries.destination_id)
    .orderBy(asc(alertDeliveries.destination_id));
  return rows.map(({ id }) => id);
}

/** The message to a destination that is due for the longest time; undefined if none is. */
export async function findDueDelivery(
  database: Database,
  workspaceId: string,
  { now, destinationId }: { now: string; destinationId: string },
): Promise<DeliveryRow | undefined> {
  const [row] = await database
    .select()
    .from(alertDeliveries)
    .where(and(isDue(workspaceId, now), eq(alertDeliveries.destination_id, destinationId)))
    .orderBy(asc(alertDeliveries.next_attempt_at), asc(alertDeliveries.id))
    .limit(1);
  return row;
}

/** Stores the outcome of an attempt. A message that was deleted since then stays so. */
export async function settleDelivery(
  database: Database,
  delivery: Pick<DeliveryRow, 'workspace_id' | 'id'>,
  outcome: Pick<DeliveryRow, 'state' | 'attempts' | 'failure_reason' | 'next_attempt_at' | 'ended_at'>,
): Promise<void> {
  await database.update(alertDeliveries).set(outcome).where(isDelivery(delivery));
}

/** A page of the messages of a workspace, the latest first. */
export async function listDeliveries(
  database: Database,
  workspaceId: string,
  {
    state,
    destinationId,
    event,
  }: { state?: DeliveryState | undefined; destinationId?: string | undefined; event?: string | undefined },
  { afterId, limit }: { afterId?: string | undefined; limit: number },
): Promise<DeliveryRow[]> {
  return await database
    .select()
    .from(alertDeliveries)
    .where(
      and(
        eq(alertDeliveries.workspace_id, workspaceId),
        state === undefined ? undefined : eq(alertDeliveries.state, state),
        destinationId === undefined ? undefined : eq(alertDeliveries.destination_id, destinationId),
        event === undefined ? undefined : eq(alertDeliveries.event, event),
        afterId === undefined ? undefined : lt(alertDeliveries.id, afterId),
      ),
    )
    .orderBy(desc(alertDeliveries.id))
    .limit(limit);
}

/** Lets a message that was given up be tried again from the beginning; false if there is none. */
export async function retryDelivery(
  transaction: Database,
  { workspaceId, id, actor }: { workspaceId: string; id: string; actor: Actor },
): Promise<boolean> {
  const rows = await transaction
    .update(alertDeliveries)
    .set({ state: 'waiting', attempts: 0, next_attempt_at: sql`now()`, ended_at: null })
    .where(and(isDelivery({ workspace_id: workspaceId, id }), eq(alertDeliveries.state, 'failed')))
    .returning({ id: alertDeliveries.id });
  if (rows.length === 0) return false;
  await addAuditEntry(transaction, { workspaceId, actor, action: 'delivery.retry', subjects: [id] });
  return true;
}

/** Deletes messages that were sent or given up before a moment. */
export async function deleteEndedDeliveries(database: Database, workspaceId: string, before: string): Promise<void> {
  await database
    .delete(alertDeliveries)
    .where(
      and(
        eq(alertDeliveries.workspace_id, workspaceId),
        ne(alertDeliveries.state, 'waiting'),
        lt(alertDeliveries.ended_at, before),
      ),
    );
}
