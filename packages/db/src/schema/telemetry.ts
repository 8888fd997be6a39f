import { index, primaryKey, sql, text } from '../drizzle.cjs';
import { identifier, isoTimestamp, recountSchema, tokens, usd } from './column-types.ts';

/**
 * API responses according to agents' telemetry (OTLP), beside the transcripts. Compared with the ledger, and never part of
 * it, or of any cost.
 */
export const telemetryRecords = recountSchema.table(
  'telemetry_records',
  {
    workspace_id: identifier().notNull(),
    agent: text().notNull(),
    /** Digest of what identifies the record, so that an export that is repeated adds nothing. */
    record_key: identifier().notNull(),
    /** `request` is one API response; `sum` a part of a session's sums. */
    kind: text().$type<'request' | 'sum'>().notNull(),
    /** As the agent names it; of the main conversation, if the agent does not name the sub-agent's own. */
    session_id: identifier().notNull(),
    /** Id of the request or the response; null if the agent states none. */
    request_id: text(),
    model: text(),
    /** The reason for the request, in the agent's word; null if it does not say. */
    purpose: text(),
    timestamp: isoTimestamp().notNull(),
    tokens_in: tokens(),
    tokens_out: tokens(),
    cache_read: tokens(),
    cache_write: tokens(),
    /** As the agent states it; null if it states none. */
    reported_cost_usd: usd(),
    person: text(),
    machine: text(),
    received_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ name: 'telemetry_records_pk', columns: [table.workspace_id, table.agent, table.record_key] }),
    index('telemetry_records_session').on(table.workspace_id, table.session_id),
    index('telemetry_records_time').on(table.workspace_id, table.timestamp),
  ],
);
