import { bigint, index, primaryKey, sql, text } from '../drizzle.cjs';
import { identifier, isoTimestamp, recountSchema, usd } from './column-types.ts';

const knownTokens = () => bigint({ mode: 'number' });

/** Lines of vendors' usage and cost reports. Compared with the ledger, and never part of it, or of any cost. */
export const billRows = recountSchema.table(
  'bill_rows',
  {
    workspace_id: identifier().notNull(),
    vendor: text().notNull(),
    /** Digest of what identifies the line, so that a later report replaces it. */
    row_key: identifier().notNull(),
    kind: text().$type<'cost' | 'usage'>().notNull(),
    /** Day in UTC, `2026-11-29`. */
    day: identifier().notNull(),
    model: text(),
    /** The vendor's own name for what it bills. */
    line_item: text(),
    /** Ids of the workspace, project, user or key that the line is of; null if its report has a line for all of them. */
    scope: text(),
    service_tier: text(),
    /** Negative for credits and discounts; null for usage without an amount. */
    amount_usd: usd(),
    tokens_in: knownTokens(),
    tokens_out: knownTokens(),
    cache_read: knownTokens(),
    cache_write: knownTokens(),
    imported_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ name: 'bill_rows_pk', columns: [table.workspace_id, table.vendor, table.row_key] }),
    index('bill_rows_day').on(table.workspace_id, table.day),
  ],
);
