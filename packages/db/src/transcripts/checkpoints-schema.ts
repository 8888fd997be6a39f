import { bigint, integer, primaryKey } from '../drizzle.cjs';
import { bytes, identifier } from '../schema/column-types.ts';
import { recountSchema } from '../schema/recount-schema.ts';

/**
 * Where the parse of a large transcript ended, so that a longer version of it can be parsed on from there. Rows with
 * numbers from these on are replaced by the parse that goes on.
 */
export const transcriptCheckpoints = recountSchema.table(
  'transcript_checkpoints',
  {
    workspace_id: identifier().notNull(),
    row_set_id: identifier().notNull(),
    byte_offset: bigint({ mode: 'number' }).notNull(),
    entry_number: integer().notNull(),
    call_number: integer().notNull(),
    event_number: integer().notNull(),
    issue_number: integer().notNull(),
    /** Compressed with zstd. */
    state: bytes().notNull(),
  },
  (table) => [primaryKey({ name: 'transcript_checkpoints_pk', columns: [table.workspace_id, table.row_set_id] })],
);
