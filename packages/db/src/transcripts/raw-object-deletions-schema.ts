import { primaryKey, sql, text } from '../drizzle.cjs';
import { identifier, isoTimestamp } from '../schema/column-types.ts';
import { recountSchema } from '../schema/recount-schema.ts';

/**
 * Raw objects that are to be deleted. A row is written in the transaction after which nothing names the object, and goes
 * once the object has gone: whatever fails in between, the object is deleted later and never taken for a lost upload.
 */
export const rawObjectDeletions = recountSchema.table(
  'raw_object_deletions',
  {
    /** Without a reference: the workspace may be deleted too. */
    workspace_id: identifier().notNull(),
    /** A key; or, with a slash at its end, all keys that begin with it. */
    object_key: text().notNull(),
    recorded_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [primaryKey({ name: 'raw_object_deletions_pk', columns: [table.workspace_id, table.object_key] })],
);
