import { integer, sql, text } from '../drizzle.cjs';
import { identifier, isoTimestamp } from '../schema/column-types.ts';
import { recountSchema } from '../schema/recount-schema.ts';
import { workspaces } from './schema.ts';

/**
 * off: secrets stay where they are. rows: what is read from a transcript is free of them, its raw object is not.
 * rows-and-raw: a redacted copy takes the place of the raw object.
 */
export const REDACTION_MODES = ['off', 'rows', 'rows-and-raw'] as const;
export type RedactionMode = (typeof REDACTION_MODES)[number];

/** What a workspace chose; without a row, the defaults. */
export const workspaceSettings = recountSchema.table('workspace_settings', {
  workspace_id: identifier()
    .primaryKey()
    .references(() => workspaces.id, { onDelete: 'cascade' }),
  redaction: text().$type<RedactionMode>().notNull().default('off'),
  rows_max_age_days: integer(),
  raw_max_age_days: integer(),
  updated_at: isoTimestamp().notNull().default(sql`now()`),
});
