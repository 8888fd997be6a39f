import type { DELIVERY_STATES, DESTINATION_KINDS } from '@recount/contract/choices';
import { index, integer, primaryKey, sql, text, unique } from '../drizzle.cjs';
import { identifier, isoTimestamp, jsonObject, recountSchema } from './column-types.ts';

export type DestinationKind = (typeof DESTINATION_KINDS)[number];
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** Places that warnings and reports are sent to. */
export const alertDestinations = recountSchema.table(
  'alert_destinations',
  {
    workspace_id: identifier().notNull(),
    id: identifier().notNull(),
    name: text().notNull(),
    kind: text().$type<DestinationKind>().notNull(),
    /** The host of a URL, or addresses of e-mail. A URL may contain a secret and is only in `secret`. */
    hint: text().notNull(),
    /** URL and signing secret, encrypted with the key of the environment; null for e-mail. */
    secret: text(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.id] }),
    unique('alert_destinations_name_unique').on(table.workspace_id, table.name),
  ],
);

/** The outbox: messages to destinations, made in the transaction of their cause. */
export const alertDeliveries = recountSchema.table(
  'alert_deliveries',
  {
    workspace_id: identifier().notNull(),
    /** ULID, which receivers tell repeated deliveries by. */
    id: identifier().notNull(),
    destination_id: identifier().notNull(),
    /** `budget.crossed`, `digest.due` or `test`. */
    event: text().notNull(),
    payload: jsonObject().notNull(),
    /** Two messages with the same key to one destination are one. */
    unique_key: text().notNull(),
    state: text().$type<DeliveryState>().notNull().default('waiting'),
    attempts: integer().notNull().default(0),
    next_attempt_at: isoTimestamp().notNull().default(sql`now()`),
    /** The latest failure, without secrets and texts of the receiver. */
    failure_reason: text(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
    ended_at: isoTimestamp(),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.id] }),
    unique('alert_deliveries_unique_key').on(table.workspace_id, table.destination_id, table.unique_key),
    index('alert_deliveries_waiting').on(table.workspace_id, table.state, table.next_attempt_at),
  ],
);
