import type { MessageType, ToolKind } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { contentBlocks, transcriptMessages } from '../schema/messages.ts';
import type { RowSetKey } from '../transcripts/transcript-rows.ts';

/** A message without its texts except their beginnings, which tell prompts from generated text. */
export interface OutlineMessage {
  id: string;
  ordinal: number;
  message_type: MessageType;
  tokens_in: number | null;
  cache_read: number | null;
  cache_write: number | null;
  cost_usd: number | null;
  /** The fields that determine the kind of message. */
  metadata: Record<string, unknown>;
  content_blocks: OutlineBlock[];
}

interface OutlineBlock {
  block_type: string;
  content_text: string | null;
  thinking_text: string | null;
  tool_name: string | null;
  tool_kind: ToolKind | null;
  tool_use_id: string | null;
  tool_result_id: string | null;
  is_error: boolean | null;
  /** True if it contains the searched text; false if there was no search. */
  is_match: boolean;
}

/** Characters that JavaScript treats as white space. A text of nothing else is empty. */
const BLANKS =
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';
/** Longer than every tag that marks generated text. */
const BEGINNING_LENGTH = 40;
/** Enough for the titles of most prompts. */
const PROMPT_LENGTH = 400;

/** Blocks of a message in an outline, more than any message of a real agent has. */
export const MAX_OUTLINE_BLOCKS = 1000;

/**
 * Messages of a transcript in order, without their texts, at most `limit`, after the one with id `afterId`, each with
 * its first blocks, one more than `MAX_OUTLINE_BLOCKS` at most.
 */
export async function readOutlineMessages(
  database: Database,
  { workspaceId, rowSetId }: RowSetKey,
  {
    afterId = '',
    limit,
    contains = '',
  }: { afterId?: string | undefined; limit: number; contains?: string | undefined },
): Promise<OutlineMessage[]> {
  const { rows } = await database.execute<Record<string, unknown> & OutlineMessage>(sql`
    SELECT m.id, m.ordinal, m.message_type, m.tokens_in::float8 AS tokens_in, m.cache_read::float8 AS cache_read,
      m.cache_write::float8 AS cache_write, m.cost_usd::float8 AS cost_usd,
      jsonb_strip_nulls(jsonb_build_object(
        'isMeta', m.metadata -> 'isMeta', 'isCompactSummary', m.metadata -> 'isCompactSummary', 'level', m.metadata -> 'level',
        'error', CASE WHEN m.metadata ? 'error' THEN true END,
        'compactMetadata', CASE WHEN m.metadata ? 'compactMetadata' THEN true END)) AS metadata,
      coalesce(blocks.content_blocks, '[]') AS content_blocks
    FROM (
      SELECT * FROM ${transcriptMessages}
      WHERE workspace_id = ${workspaceId} AND row_set_id = ${rowSetId} AND id > ${afterId}
      ORDER BY id LIMIT ${limit}
    ) AS m
    CROSS JOIN LATERAL (
      SELECT json_agg(json_build_object(
        'block_type', b.block_type, 'tool_name', b.tool_name, 'tool_kind', b.tool_kind, 'tool_use_id', b.tool_use_id,
        'tool_result_id', b.tool_result_id, 'is_error', b.is_error,
        'content_text', left(ltrim(b.content_text, ${BLANKS}::text),
          CASE m.message_type WHEN 'user' THEN ${PROMPT_LENGTH}::int ELSE ${BEGINNING_LENGTH}::int END),
        'thinking_text', left(ltrim(b.thinking_text, ${BLANKS}::text), 1),
        'is_match', ${contains}::text <> '' AND position(lower(${contains}::text) IN lower(concat_ws(E'\n',
          b.content_text, b.thinking_text, b.tool_name, b.tool_input::text, b.result_text))) > 0
      ) ORDER BY b.block_order) AS content_blocks
      FROM (
        SELECT * FROM ${contentBlocks} AS b
        WHERE b.workspace_id = ${workspaceId} AND b.row_set_id = m.row_set_id AND b.message_id = m.id
        ORDER BY b.block_order LIMIT ${MAX_OUTLINE_BLOCKS + 1}
      ) AS b
    ) AS blocks
    ORDER BY m.id`);
  return rows;
}
