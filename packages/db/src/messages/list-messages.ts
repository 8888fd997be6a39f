import type { Database } from '../database/database.ts';
import { and, asc, eq, getTableColumns, gt, gte, inArray, sql } from '../drizzle.cjs';
import { contentBlocks, transcriptMessages } from '../schema/messages.ts';

type MessageRow = typeof transcriptMessages.$inferSelect;
export type ContentBlockRow = typeof contentBlocks.$inferSelect;

export interface ListedMessage {
  message: MessageRow;
  blocks: ContentBlockRow[];
  /** Bytes of the blocks' texts, as they are stored. */
  textBytes: number;
  /** True if a block came after the limit in bytes. Only the beginning of its text was read. */
  isCut: boolean;
}

interface MessagePageQuery {
  afterId?: string | undefined;
  fromId?: string | undefined;
  limit: number;
  /** Blocks that begin after this many bytes of text, over all messages, are cut. By default none are. */
  maxTextBytes?: number | undefined;
}

/** Characters of a text after the limit. */
const BEGINNING_LENGTH = 1000;

/**
 * Messages of a transcript, by its `row_set_id`, in order with their blocks, at most `limit`, after the one with id
 * `afterId` or starting with `fromId`. The texts together are at most `maxTextBytes` and one block long, then come
 * beginnings of 1,000 characters, whose blocks say so as blocks do whose rows have only the beginning of a text.
 */
export async function listMessages(
  database: Database,
  workspaceId: string,
  rowSetId: string,
  { afterId, fromId, limit, maxTextBytes = Number.MAX_SAFE_INTEGER }: MessagePageQuery,
): Promise<ListedMessage[]> {
  const messages = await database
    .select()
    .from(transcriptMessages)
    .where(
      and(
        eq(transcriptMessages.workspace_id, workspaceId),
        eq(transcriptMessages.row_set_id, rowSetId),
        afterId === undefined ? undefined : gt(transcriptMessages.id, afterId),
        fromId === undefined ? undefined : gte(transcriptMessages.id, fromId),
      ),
    )
    .orderBy(asc(transcriptMessages.id))
    .limit(limit);
  if (messages.length === 0) return [];
  const { content_text, thinking_text, result_text, tool_input, ...others } = getTableColumns(contentBlocks);
  // A length is in the header of a long text, which is not read for it.
  const size = sql<number>`(coalesce(octet_length(${content_text}), 0) + coalesce(octet_length(${thinking_text}), 0)
    + coalesce(octet_length(${result_text}), 0) + coalesce(octet_length(${tool_input}::text), 0))`;
  const isAfter = sql<boolean>`coalesce(sum(${size}) OVER (ORDER BY ${others.message_id}, ${others.block_order}
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) >= ${maxTextBytes}`;
  const cut = (text: typeof content_text | typeof thinking_text | typeof result_text) =>
    sql<string | null>`CASE WHEN ${isAfter} THEN left(${text}, ${BEGINNING_LENGTH + 1}) ELSE ${text} END`;
  const rows = await database
    .select({
      ...others,
      content_text: cut(content_text),
      thinking_text: cut(thinking_text),
      result_text: cut(result_text),
      tool_input: sql<ContentBlockRow['tool_input']>`CASE WHEN ${isAfter}
        AND length(${tool_input}::text) > ${BEGINNING_LENGTH}
        THEN to_jsonb(left(${tool_input}::text, ${BEGINNING_LENGTH + 1})) ELSE ${tool_input} END`,
      size,
      isAfter,
    })
    .from(contentBlocks)
    .where(
      and(
        eq(contentBlocks.workspace_id, workspaceId),
        eq(contentBlocks.row_set_id, rowSetId),
        inArray(
          contentBlocks.message_id,
          messages.map(({ id }) => id),
        ),
      ),
    )
    .orderBy(asc(contentBlocks.message_id), asc(contentBlocks.block_order));
  const rowsByMessage = Map.groupBy(rows, ({ message_id }) => message_id);
  return messages.map((message) => {
    const found = rowsByMessage.get(message.id) ?? [];
    return {
      message,
      blocks: found.map(({ size, isAfter, ...block }) => (isAfter ? toBeginning(block, size) : block)),
      textBytes: found.reduce((sum, each) => sum + each.size, 0),
      isCut: found.some((each) => each.isAfter && each.size > 0),
    };
  });
}

/** Cuts texts that are longer than a beginning. */
function toBeginning(block: ContentBlockRow, size: number): ContentBlockRow {
  const texts = ['content_text', 'thinking_text', 'result_text', 'tool_input'] as const;
  const long = texts.filter((name) => typeof block[name] === 'string' && block[name].length > BEGINNING_LENGTH);
  if (long.length === 0) return block;
  const beginnings = long.map((name) => [name, String(block[name]).slice(0, BEGINNING_LENGTH).toWellFormed()]);
  // The length of the original stays if the row itself has only the beginning of it.
  const metadata = { original_byte_length: size, ...block.metadata, truncated: true };
  return { ...block, ...Object.fromEntries(beginnings), metadata };
}
