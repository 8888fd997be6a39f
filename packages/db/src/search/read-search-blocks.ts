import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { contentBlocks, transcriptMessages } from '../schema/messages.ts';
import { searchDocuments, type searchIndexState } from '../schema/search.ts';
import { transcripts } from '../schema/transcripts.ts';
import { sessionEvents } from '../schema/usage.ts';
import { MAX_DOCUMENT_LENGTH, type SearchableBlock } from './search-document.ts';

/** Limits of a batch, blocks, and bytes of the lines that contain them. */
export const MAX_BATCH_BLOCKS = 1000;
export const MAX_BATCH_LINE_BYTES = 4 * 1024 * 1024;
/**
 * Blocks in memory at a time. Each is garbage once its document is encoded; if all were read together, they would
 * survive two collections of the young generation, and stay until the next full one.
 */
const FETCHED_BLOCKS = 50;

/** A session that a batch has locked, and how far it is indexed. */
export type TakenSession = Pick<
  typeof searchIndexState.$inferSelect,
  'session_id' | 'row_set_id' | 'after_message_id' | 'after_block_order' | 'failure_count'
> & { [column: string]: unknown };

export type ReadBlock = SearchableBlock & {
  session_id: string;
  /** Total for the lines of this block and the blocks before it. */
  line_bytes: number;
};

/**
 * The next blocks without a document, session by session; for a session that grew, only the added ones. With
 * `hasDocuments`, those that have one as well.
 */
export async function* readSearchBlocks(
  transaction: Database,
  workspaceId: string,
  sessions: readonly TakenSession[],
  { hasDocuments = false } = {},
): AsyncGenerator<ReadBlock> {
  await transaction.execute(sql`
    DECLARE next_blocks NO SCROLL CURSOR FOR ${selectNextBlocks(workspaceId, sessions, hasDocuments)}`);
  for (;;) {
    const { rows } = await transaction.execute<ReadBlock & { [column: string]: unknown }>(
      sql.raw(`FETCH FORWARD ${FETCHED_BLOCKS} FROM next_blocks`),
    );
    yield* rows;
    if (rows.length < FETCHED_BLOCKS) return;
  }
}

function selectNextBlocks(workspaceId: string, sessions: readonly TakenSession[], hasDocuments: boolean): SQL {
  const toArray = <Value>(toValue: (session: TakenSession) => Value) => sql.param(sessions.map(toValue));
  return sql`
    WITH taken AS MATERIALIZED (
      SELECT * FROM unnest(
        ${toArray(({ session_id }) => session_id)}::text[], ${toArray(({ row_set_id }) => row_set_id)}::text[],
        ${toArray(({ after_message_id }) => after_message_id)}::text[],
        ${toArray(({ after_block_order }) => after_block_order)}::int[]
      ) WITH ORDINALITY AS t (session_id, row_set_id, after_message_id, after_block_order, number)
    )
    SELECT session_id, message_id, block_order, block_type, tool_name, tool_input, metadata, line_number, message_type,
      left(content_text, ${MAX_DOCUMENT_LENGTH + 1}) AS content_text,
      left(thinking_text, ${MAX_DOCUMENT_LENGTH + 1}) AS thinking_text,
      left(result_text, ${MAX_DOCUMENT_LENGTH + 1}) AS result_text,
      byte_offset::float8 AS byte_offset, to_char("timestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "timestamp",
      provider_message_id, uuid, is_subagent, is_compact_summary, line_bytes::float8 AS line_bytes,
      (row_set_id, message_line_number) IN (
        SELECT e.row_set_id, e.line_number FROM taken
        JOIN ${sessionEvents} AS e ON e.workspace_id = ${workspaceId} AND e.row_set_id = taken.row_set_id
        WHERE e.kind = 'prompt'
      ) AS is_prompt
    FROM (
      SELECT *, sum(byte_length) OVER (ORDER BY number, message_id, block_order) AS line_bytes
      FROM (
        SELECT taken.session_id, taken.number, b.*,
          m.message_type, m."timestamp", m.provider_message_id, m.uuid, m.line_number AS message_line_number,
          m.is_sidechain OR t.is_subagent AS is_subagent, m.metadata ? 'isCompactSummary' AS is_compact_summary
        FROM taken
        JOIN LATERAL (
          SELECT is_subagent FROM ${transcripts} AS t
          WHERE t.workspace_id = ${workspaceId} AND t.row_set_id = taken.row_set_id OFFSET 0
        ) AS t ON true
        JOIN LATERAL (
          SELECT b.row_set_id, b.message_id, b.block_order, b.block_type, b.content_text, b.thinking_text, b.tool_name,
            b.tool_input, b.result_text, b.metadata, b.line_number, b.byte_offset, b.byte_length
          FROM ${contentBlocks} AS b
          WHERE b.workspace_id = ${workspaceId} AND b.row_set_id = taken.row_set_id
            AND (b.message_id, b.block_order) > (taken.after_message_id, taken.after_block_order)
            AND (${hasDocuments}::boolean OR NOT EXISTS (
              SELECT FROM ${searchDocuments} AS d
              WHERE d.workspace_id = ${workspaceId} AND d.session_id = taken.session_id
                AND d.message_id = b.message_id AND d.block_order = b.block_order OFFSET 0))
          ORDER BY b.message_id, b.block_order LIMIT ${MAX_BATCH_BLOCKS}
        ) AS b ON true
        JOIN LATERAL (
          SELECT message_type, "timestamp", provider_message_id, uuid, line_number, is_sidechain, metadata
          FROM ${transcriptMessages} AS m
          WHERE m.workspace_id = ${workspaceId} AND m.row_set_id = b.row_set_id AND m.id = b.message_id OFFSET 0
        ) AS m ON true
        ORDER BY taken.number, b.message_id, b.block_order LIMIT ${MAX_BATCH_BLOCKS}
      ) AS next_block
    ) AS block
    WHERE line_bytes - byte_length < ${MAX_BATCH_LINE_BYTES}
    ORDER BY number, message_id, block_order`;
}
