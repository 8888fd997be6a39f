import { boolean, index, integer, primaryKey, sql, text } from '../drizzle.cjs';
import { bytes, identifier, isoTimestamp, jsonObject, recountSchema } from './column-types.ts';

/**
 * Read-only links to one session, or to one view of figures. A link to a session shows what was reviewed when it was
 * shared, whatever happens to the session. A view is made again when it is opened, at most every few minutes.
 */
export const sessionShares = recountSchema.table(
  'session_shares',
  {
    workspace_id: identifier().notNull(),
    id: identifier().notNull(),
    /** Null for a view. */
    session_id: identifier(),
    /** The view as it was requested; null for a session. */
    view: jsonObject(),
    /** SHA-256 of the link's secret. */
    secret_hash: text().notNull(),
    /** gzip of the HTML page; null once the link has ended. */
    page: bytes(),
    /** The time of a view's figures; null for a session. */
    page_at: isoTimestamp(),
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
