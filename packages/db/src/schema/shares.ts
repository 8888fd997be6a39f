import { boolean, index, integer, primaryKey, sql, text } from '../drizzle.cjs';
import { bytes, identifier, isoTimestamp, recountSchema } from './column-types.ts';

/**
 * Read-only links to one session. A link shows what was reviewed when it was shared, whatever happens to the session.
 */
export const sessionShares = recountSchema.table(
  'session_shares',
  {
    workspace_id: identifier().notNull(),
    id: identifier().notNull(),
    session_id: identifier().notNull(),
    /** SHA-256 of the link's secret. */
    secret_hash: text().notNull(),
    /** gzip of the HTML page; null once the link has ended. */
    page: bytes(),
    /** Range of lines shown; null means from the beginning, or to the end. */
    from_line: integer(),
    to_line: integer(),
    is_sanitized: boolean().notNull(),
    /** Who shared it, as in the audit log. */
    actor: text().notNull(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
    expires_at: isoTimestamp().notNull(),
    revoked_at: isoTimestamp(),
    opened_count: integer().notNull().default(0),
    last_opened_at: isoTimestamp(),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.id] }),
    index('session_shares_session').on(table.workspace_id, table.session_id),
  ],
);
