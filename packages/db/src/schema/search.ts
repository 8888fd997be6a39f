import { bigint, boolean, customType, index, integer, primaryKey, sql, text } from '../drizzle.cjs';
import { identifier, isoTimestamp, recountSchema } from './column-types.ts';

/** The role of a text in its session. context is added by the agent's program, including a sub-agent's task. */
export const SEARCH_KINDS = [
  'prompt',
  'answer',
  'thinking',
  'tool_input',
  'tool_result',
  'summary',
  'context',
] as const;
export type SearchKind = (typeof SEARCH_KINDS)[number];

/** The contents of a tsvector. */
export interface WordVector {
  /** Ascending positions of each lexeme, from 1; none for a lexeme without positions. */
  positions: ReadonlyMap<string, readonly number[]>;
  /** The weight of all positions. */
  weight: 0 | 1 | 2 | 3;
}

/** Lexemes with positions and weights, made by `toWordVector` rather than a text search configuration of Postgres. */
const wordVector = customType<{ data: WordVector }>({ dataType: () => 'tsvector' });
const smallintArray = customType<{ data: Int16Array }>({ dataType: () => 'smallint[]' });

/**
 * One row for each content block with text in a session's primary transcript. Written after ingestion. Keys are the
 * same in every version of the session. A longer one adds rows and leaves the others.
 */
export const searchDocuments = recountSchema.table(
  'search_documents',
  {
    workspace_id: identifier().notNull(),
    session_id: identifier().notNull(),
    message_id: identifier().notNull(),
    block_order: integer().notNull(),
    kind: text().$type<SearchKind>().notNull(),
    timestamp: isoTimestamp(),
    is_subagent: boolean().notNull(),
    line_number: integer().notNull(),
    byte_offset: bigint({ mode: 'number' }).notNull(),
    copy_key: bigint({ mode: 'bigint' }).notNull(),
    is_cut: boolean().notNull(),
    text: text().notNull(),
    words: wordVector().notNull(),
    grams: smallintArray().notNull(),
  },
  (table) => [
    primaryKey({
      name: 'search_documents_pk',
      columns: [table.workspace_id, table.session_id, table.message_id, table.block_order],
    }),
    // A single index, because the workspace's lexeme in `words` restricts both kinds of search.
    index('search_documents_content').using('gin', table.words, table.grams),
    // The newest that have a frequent word are found by looking at the newest, not by gathering all that have it.
    index('search_documents_time').on(table.workspace_id, table.timestamp.desc().nullsLast()),
  ],
);

/** The progress of each session's indexing; those with `indexed_at` null are the queue. */
export const searchIndexState = recountSchema.table(
  'search_index_state',
  {
    workspace_id: identifier().notNull(),
    session_id: identifier().notNull(),
    row_set_id: identifier().notNull(),
    parser_version: text(),
    /** The last block that was checked. */
    after_message_id: identifier().notNull().default(''),
    after_block_order: integer().notNull().default(-1),
    failure_count: integer().notNull().default(0),
    waiting_since: isoTimestamp().notNull().default(sql`now()`),
    next_attempt_at: isoTimestamp().notNull().default(sql`now()`),
    indexed_at: isoTimestamp(),
  },
  (table) => [
    primaryKey({ name: 'search_index_state_pk', columns: [table.workspace_id, table.session_id] }),
    index('search_index_state_waiting').on(table.next_attempt_at).where(sql`indexed_at IS NULL`),
  ],
);
