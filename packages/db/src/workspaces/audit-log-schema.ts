import { primaryKey, sql, text } from '../drizzle.cjs';
import { identifier, isoTimestamp, jsonObject } from '../schema/column-types.ts';
import { recountSchema } from '../schema/recount-schema.ts';

/**
 * Who changed what. A trigger refuses to change or delete rows, but for those of a workspace that is being deleted. No foreign
 * key: that a workspace was deleted is told by a row of no workspace.
 */
export const auditLog = recountSchema.table(
  'audit_log',
  {
    /** '' for what is of no workspace (any more). */
    workspace_id: identifier().notNull(),
    id: identifier().notNull(),
    at: isoTimestamp().notNull().default(sql`now()`),
    /** `key:<id>`, `operator:<name on the operating system>` for who has the database itself, or `system`. */
    actor: text().notNull(),
    /** `<noun>.<verb>`; new ones may come at any time. */
    action: text().notNull(),
    /** Ids of what was changed. */
    subjects: text().array().notNull(),
    /** Counts, names, and values of settings; never text of transcripts, nor secrets. */
    details: jsonObject().notNull(),
  },
  (table) => [primaryKey({ columns: [table.workspace_id, table.id] })],
);
