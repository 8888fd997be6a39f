import { bigint, primaryKey, sql, text } from '../drizzle.cjs';
import { identifier, isoTimestamp, recountSchema } from './column-types.ts';

/**
 * Names that admins gave to repositories, by the name that transcripts tell. Sessions have the shown name, transcripts
 * keep the told one, so that undoing loses nothing. Also in the workspace's record in the raw store.
 */
export const repositoryRenames = recountSchema.table(
  'repository_renames',
  {
    workspace_id: identifier().notNull(),
    /** As in transcripts, or as another repository was renamed to. */
    name: text().notNull(),
    /** ULID; another one after each change of the new name. */
    id: identifier().notNull(),
    /** As the admin chose. Null for one that was undone, until stored sessions have the told name again. */
    new_name: text(),
    /** The new name, or what that one is renamed to in turn. */
    shown_name: text().notNull(),
    actor: text().notNull(),
    changed_at: isoTimestamp().notNull().default(sql`now()`),
    /** Null until all stored sessions have the shown name. */
    applied_at: isoTimestamp(),
    /** Stored sessions that were looked at since the change, and all of them; null before that. */
    checked_count: bigint({ mode: 'number' }),
    session_count: bigint({ mode: 'number' }),
  },
  (table) => [primaryKey({ columns: [table.workspace_id, table.name] })],
);
