import type { SEARCH_KINDS } from '@recount/contract/choices';
import { index, integer, primaryKey, smallint, sql } from '../drizzle.cjs';
import { bytes, identifier, isoTimestamp, recountSchema } from './column-types.ts';

/** The role of a text in its session. context is added by the agent's program, including a sub-agent's task. */
export type SearchKind = (typeof SEARCH_KINDS)[number];

/**
 * Up to 4,096 texts of content blocks with the tokens that find them, written in the same transaction as the blocks.
 * Never changed. Merging small segments, and leaving out texts that are gone, makes another segment. The blocks decide
 * which of the texts exist, so that an old segment shows nothing that was deleted.
 */
export const searchSegments = recountSchema.table(
  'search_segments',
  {
    workspace_id: identifier().notNull(),
    segment_id: identifier().notNull(),
    document_count: integer().notNull(),
    posting_count: integer().notNull(),
    latest_at: isoTimestamp(),
    places: bytes().notNull(),
    keys: bytes().notNull(),
  },
  (table) => [primaryKey({ name: 'search_segments_pk', columns: [table.workspace_id, table.segment_id] })],
);

/** The postings of a segment: which of its texts have a token. One row for each range of tokens. */
export const searchPostings = recountSchema.table(
  'search_postings',
  {
    workspace_id: identifier().notNull(),
    shard: smallint().notNull(),
    segment_id: identifier().notNull(),
    postings: bytes().notNull(),
  },
  (table) => [
    // A query reads the same few shards of all segments.
    primaryKey({ name: 'search_postings_pk', columns: [table.workspace_id, table.shard, table.segment_id] }),
  ],
);

/**
 * The row sets with texts in a segment. A transaction that deletes rows marks their row set as removed here, and the
 * segment is made again without them.
 */
export const searchSegmentRowSets = recountSchema.table(
  'search_segment_row_sets',
  {
    workspace_id: identifier().notNull(),
    segment_id: identifier().notNull(),
    row_set_id: identifier().notNull(),
    document_count: integer().notNull(),
    removed_at: isoTimestamp(),
  },
  (table) => [
    primaryKey({
      name: 'search_segment_row_sets_pk',
      columns: [table.workspace_id, table.segment_id, table.row_set_id],
    }),
    index('search_segment_row_sets_row_set').on(table.workspace_id, table.row_set_id),
    index('search_segment_row_sets_removed')
      .on(table.workspace_id, table.segment_id, table.row_set_id)
      .where(sql`removed_at IS NOT NULL`),
  ],
);

/** Row sets whose texts are in no segment yet: of a database from before segments, or whose segments are lost. */
export const searchWaiting = recountSchema.table(
  'search_waiting',
  {
    workspace_id: identifier().notNull(),
    row_set_id: identifier().notNull(),
    session_id: identifier().notNull(),
    failure_count: integer().notNull().default(0),
    waiting_since: isoTimestamp().notNull().default(sql`now()`),
    next_attempt_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ name: 'search_waiting_pk', columns: [table.workspace_id, table.row_set_id] }),
    index('search_waiting_next').on(table.next_attempt_at),
  ],
);
