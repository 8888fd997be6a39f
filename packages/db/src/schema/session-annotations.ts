import { boolean, primaryKey, sql, text } from '../drizzle.cjs';
import { identifier, isoTimestamp, recountSchema } from './column-types.ts';

/**
 * Names, stars, tags and notes that people give to sessions. No transcript has them, so they are kept apart from all
 * rows that ingestion writes, and beside the workspace's record in the raw store.
 */
export const sessionAnnotations = recountSchema.table(
  'session_annotations',
  {
    workspace_id: identifier().notNull(),
    session_id: identifier().notNull(),
    /** Shown instead of the agent's title; null if not renamed. */
    given_title: text(),
    is_starred: boolean().notNull().default(false),
    /** Each once, in alphabetical order. */
    tags: text().array().notNull().default([]),
    note: text(),
    updated_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [primaryKey({ columns: [table.workspace_id, table.session_id] })],
);
