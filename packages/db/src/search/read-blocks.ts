import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { contentBlocks, transcriptMessages } from '../schema/messages.ts';
import { sessionEvents } from '../schema/usage.ts';
import { MAX_TEXT_LENGTH, type TextBlock } from './search-text.ts';

/** Blocks in memory at a time. */
const FETCHED_BLOCKS = 50;

export interface StoredBlock extends TextBlock {
  row_set_id: string;
  message_id: string;
  block_order: number;
  /** The time of its message, milliseconds since 1970. */
  time_ms: number | null;
  /** A person wrote the line. */
  is_prompt: boolean;
}

/** All blocks of row sets. Uses the transaction's connection until the last one. */
export async function* readBlocks(
  transaction: Database,
  workspaceId: string,
  rowSetIds: readonly string[],
): AsyncGenerator<StoredBlock> {
  const ids = sql`${sql.param([...rowSetIds])}::text[]`;
  const limit = MAX_TEXT_LENGTH + 1;
  await transaction.execute(sql`
    DECLARE search_blocks NO SCROLL CURSOR FOR
    SELECT b.row_set_id, b.message_id, b.block_order, b.block_type, b.tool_name, b.tool_input, b.metadata,
      left(b.content_text, ${limit}) AS content_text, left(b.thinking_text, ${limit}) AS thinking_text,
      left(b.result_text, ${limit}) AS result_text, extract(epoch FROM m."timestamp")::float8 * 1000 AS time_ms,
      (b.row_set_id, m.line_number) IN (
        SELECT e.row_set_id, e.line_number FROM ${sessionEvents} AS e
        WHERE e.workspace_id = ${workspaceId} AND e.row_set_id = ANY(${ids}) AND e.kind = 'prompt'
      ) AS is_prompt
    FROM ${contentBlocks} AS b
    JOIN LATERAL (
      SELECT m."timestamp", m.line_number FROM ${transcriptMessages} AS m
      WHERE m.workspace_id = ${workspaceId} AND m.row_set_id = b.row_set_id AND m.id = b.message_id OFFSET 0
    ) AS m ON true
    WHERE b.workspace_id = ${workspaceId} AND b.row_set_id = ANY(${ids})`);
  for (;;) {
    const { rows } = await transaction.execute<StoredBlock & Record<string, unknown>>(
      sql.raw(`FETCH FORWARD ${FETCHED_BLOCKS} FROM search_blocks`),
    );
    yield* rows;
    if (rows.length < FETCHED_BLOCKS) break;
  }
  await transaction.execute(sql`CLOSE search_blocks`);
}
