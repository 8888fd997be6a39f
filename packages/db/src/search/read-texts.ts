import type { JsonValue, MessageType } from '@recount/core';
import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { contentBlocks, transcriptMessages } from '../schema/messages.ts';
import { MAX_TEXT_LENGTH, type TextBlock, type TextMessage } from './search-text.ts';

/** The key of a content block. */
export interface BlockKey {
  rowSetId: string;
  messageId: string;
  blockOrder: number;
}

/** A content block as it is stored, with its message. */
export interface StoredText extends TextBlock, TextMessage {
  /** Place among the keys. */
  index: number;
  message_type: MessageType;
  tool_input: JsonValue;
  line_number: number;
  byte_offset: number;
  is_sidechain: boolean;
  /** Milliseconds since 1970. */
  time_ms: number | null;
}

/**
 * Texts are read up to one unit more than can be found, which shows that there is more. Counting characters takes as
 * long as reading the text, so only texts of many bytes are counted.
 */
const limitText = (name: string): SQL => {
  const [column, limit] = [sql.raw(`b.${name}`), sql`${MAX_TEXT_LENGTH + 1}::int`];
  return sql`CASE WHEN octet_length(${column}) <= ${limit} THEN ${column} ELSE left(${column}, ${limit}) END
    AS ${sql.raw(name)}`;
};

/** Reads the blocks that exist. `condition` is about the message, `m`. */
export async function readTexts(
  snapshot: Database,
  workspaceId: string,
  keys: readonly BlockKey[],
  condition: SQL = sql`true`,
): Promise<StoredText[]> {
  const toArray = (values: readonly unknown[]): SQL => sql`${sql.param(values)}`;
  const { rows } = await snapshot.execute<StoredText & Record<string, unknown>>(sql`
    SELECT k.number::int - 1 AS index, k.message_id, m.*, b.*
    FROM unnest(
      ${toArray(keys.map(({ rowSetId }) => rowSetId))}::text[], ${toArray(keys.map(({ messageId }) => messageId))}::text[],
      ${toArray(keys.map(({ blockOrder }) => blockOrder))}::int[]
    ) WITH ORDINALITY AS k (row_set_id, message_id, block_order, number)
    JOIN LATERAL (
      SELECT m.message_type, extract(epoch FROM m."timestamp")::float8 * 1000 AS time_ms, m.provider_message_id, m.uuid,
        m.is_sidechain, m.metadata ? 'isCompactSummary' AS is_compact_summary
      FROM ${transcriptMessages} AS m
      WHERE m.workspace_id = ${workspaceId} AND m.row_set_id = k.row_set_id AND m.id = k.message_id AND ${condition}
      OFFSET 0
    ) AS m ON true
    JOIN LATERAL (
      SELECT b.block_type, ${limitText('content_text')}, ${limitText('thinking_text')}, b.tool_name, b.tool_input,
        ${limitText('result_text')}, b.metadata, b.line_number, b.byte_offset::float8 AS byte_offset
      FROM ${contentBlocks} AS b
      WHERE b.workspace_id = ${workspaceId} AND b.row_set_id = k.row_set_id AND b.message_id = k.message_id
        AND b.block_order = k.block_order
      OFFSET 0
    ) AS b ON true`);
  return rows;
}
