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
/** The blocks of a prompt that may hold its title. */
const TITLE_BLOCKS = 8;
/** Ids of agents are shorter. Hashes of longer ones are enough to find the results of calls. */
const ID_LENGTH = 64;

/** Blocks of a message in an outline, more than any message of a real agent has. */
export const MAX_OUTLINE_BLOCKS = 1000;
/** Blocks in memory while they are read. */
const BLOCKS_PER_READ = 10_000;

interface OutlinePage {
  messages: OutlineMessage[];
  /** True if there are no messages after these. */
  isLast: boolean;
}

/**
 * Messages of a transcript in order, without their texts, at most `limit`, fewer if they have very many blocks, after the
 * one with id `afterId`, each with its first blocks, one more than `MAX_OUTLINE_BLOCKS` at most. Ids of calls are short.
 */
export async function readOutlineMessages(
  database: Database,
  rowSet: RowSetKey,
  {
    afterId = '',
    limit,
    contains = '',
  }: { afterId?: string | undefined; limit: number; contains?: string | undefined },
): Promise<OutlinePage> {
  const { workspaceId, rowSetId } = rowSet;
  const { rows: messages } = await database.execute<
    Record<string, unknown> & Omit<OutlineMessage, 'content_blocks'>
  >(sql`
    SELECT m.id, m.ordinal, m.message_type, m.tokens_in::float8 AS tokens_in, m.cache_read::float8 AS cache_read,
      m.cache_write::float8 AS cache_write, m.cost_usd::float8 AS cost_usd,
      jsonb_strip_nulls(jsonb_build_object(
        'isMeta', m.metadata -> 'isMeta', 'isCompactSummary', m.metadata -> 'isCompactSummary', 'level', m.metadata -> 'level',
        'error', CASE WHEN m.metadata ? 'error' THEN true END,
        'compactMetadata', CASE WHEN m.metadata ? 'compactMetadata' THEN true END)) AS metadata
    FROM ${transcriptMessages} AS m
    WHERE m.workspace_id = ${workspaceId} AND m.row_set_id = ${rowSetId} AND m.id > ${afterId}
    ORDER BY m.id LIMIT ${limit}`);
  const blocks = await readBlocks(
    database,
    rowSet,
    messages.map(({ id }) => id),
    contains,
  );
  const blocksByMessage = Map.groupBy(blocks, ({ message_id }) => message_id);
  const found = messages.map((message) => ({ ...message, content_blocks: blocksByMessage.get(message.id) ?? [] }));
  if (blocks.length < BLOCKS_PER_READ) return { messages: found, isLast: messages.length < limit };
  // The last message that has blocks may have more of them.
  const end = found.findIndex(({ id }) => id === blocks.at(-1)?.message_id);
  return { messages: found.slice(0, Math.max(1, end)), isLast: false };
}

/** The blocks of messages, in order, until there are `BLOCKS_PER_READ`. */
async function readBlocks(
  database: Database,
  { workspaceId, rowSetId }: RowSetKey,
  messageIds: readonly string[],
  contains: string,
): Promise<(OutlineBlock & { message_id: string })[]> {
  const toId = (column: string) => sql`CASE WHEN length(b.${sql.identifier(column)}) > ${ID_LENGTH}::int
    THEN md5(b.${sql.identifier(column)}) ELSE b.${sql.identifier(column)} END AS ${sql.identifier(column)}`;
  const { rows } = await database.execute<Record<string, unknown> & OutlineBlock & { message_id: string }>(sql`
    SELECT m.id AS message_id, b.*
    FROM (
      SELECT id, message_type FROM ${transcriptMessages}
      WHERE workspace_id = ${workspaceId} AND row_set_id = ${rowSetId} AND id = ANY(${sql.param([...messageIds])}::text[])
      ORDER BY id LIMIT ${messageIds.length}
    ) AS m
    CROSS JOIN LATERAL (
      SELECT b.block_order, b.block_type, left(b.tool_name, 1) AS tool_name, b.tool_kind, ${toId('tool_use_id')},
        ${toId('tool_result_id')}, b.is_error,
        left(ltrim(b.content_text, ${BLANKS}::text), CASE WHEN m.message_type = 'user' AND b.block_order < ${TITLE_BLOCKS}::int
          THEN ${PROMPT_LENGTH}::int ELSE ${BEGINNING_LENGTH}::int END) AS content_text,
        left(ltrim(b.thinking_text, ${BLANKS}::text), 1) AS thinking_text,
        ${contains}::text <> '' AND position(lower(${contains}::text) IN lower(concat_ws(E'\n',
          b.content_text, b.thinking_text, b.tool_name, b.tool_input::text, b.result_text))) > 0 AS is_match
      FROM ${contentBlocks} AS b
      WHERE b.workspace_id = ${workspaceId} AND b.row_set_id = ${rowSetId} AND b.message_id = m.id
      ORDER BY b.block_order LIMIT ${MAX_OUTLINE_BLOCKS + 1}
    ) AS b
    ORDER BY m.id, b.block_order
    LIMIT ${BLOCKS_PER_READ}`);
  return rows;
}
