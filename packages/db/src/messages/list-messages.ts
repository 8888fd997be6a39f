import type { Database } from '../database/database.ts';
import { and, asc, eq, getTableColumns, gt, gte, inArray, type PgColumn, type SQL, sql } from '../drizzle.cjs';
import { contentBlocks, transcriptMessages } from '../schema/messages.ts';
import { toJsonBytes, toTextBytes } from './row-bytes.ts';

type MessageRow = typeof transcriptMessages.$inferSelect;
export type ContentBlockRow = typeof contentBlocks.$inferSelect;

export interface ListedMessage {
  message: MessageRow;
  /** In order; the first ones if there are more than the limit. */
  blocks: ContentBlockRow[];
  /** Bytes of the message and of these blocks that count for the limit. */
  bytes: number;
  /** True if blocks of it may be left out. */
  isCut: boolean;
}

interface MessagePageQuery {
  afterId?: string | undefined;
  fromId?: string | undefined;
  limit: number;
  /**
   * Blocks that begin after this many bytes of blocks, over all messages, are left out. A block is as long as its texts,
   * names, input and metadata as they are in memory, and `BLOCK_BYTES`. By default none is left out.
   */
  maxBytes?: number | undefined;
}

/** The numbers and the separate id of a block as JSON, about. */
const BLOCK_BYTES = 500;

/**
 * Messages of a transcript, by its `row_set_id`, in order with their blocks, at most `limit`, after the one with id
 * `afterId` or starting with `fromId`. Holds at most `maxBytes` and one block.
 */
export async function listMessages(
  database: Database,
  workspaceId: string,
  rowSetId: string,
  { afterId, fromId, limit, maxBytes }: MessagePageQuery,
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
  const ids = takeLikely(messages, maxBytes).map(({ id }) => id);
  const rows = await readBlocks(database, [workspaceId, rowSetId, ids], maxBytes);
  const firstLeftOut = rows.find(({ isLeftOut }) => isLeftOut)?.message_id ?? messages[ids.length]?.id;
  const rowsByMessage = Map.groupBy(rows, ({ message_id }) => message_id);
  return messages.map((message) => {
    const held = (rowsByMessage.get(message.id) ?? []).filter(({ isLeftOut }) => !isLeftOut);
    return {
      message,
      blocks: held.map(({ bytes: _bytes, isLeftOut: _isLeftOut, ...block }) => block),
      bytes: held.reduce((sum, { bytes }) => sum + bytes, JSON.stringify(message).length),
      isCut: firstLeftOut !== undefined && message.id >= firstLeftOut,
    };
  });
}

/**
 * The first messages, at least one, until their lines are longer than `maxBytes`. Postgres would write the inputs of
 * others as text to measure them, and leave most of them out.
 */
function takeLikely(messages: readonly MessageRow[], maxBytes = Number.MAX_SAFE_INTEGER): readonly MessageRow[] {
  let lineBytes = 0;
  const end = messages.findIndex(({ byte_length: byteLength }) => {
    lineBytes += byteLength;
    return lineBytes > maxBytes;
  });
  return end < 0 ? messages : messages.slice(0, Math.max(1, end));
}

/** The blocks of messages in order, and after the limit at least one without its texts, if there are more. */
async function readBlocks(
  database: Database,
  [workspaceId, rowSetId, messageIds]: [string, string, string[]],
  maxBytes = Number.MAX_SAFE_INTEGER,
) {
  const { content_text, thinking_text, result_text, tool_input, metadata, ...keys } = getTableColumns(contentBlocks);
  type Key = keyof typeof keys;
  const names = [keys.block_type, keys.tool_name, keys.tool_use_id, keys.tool_result_id];
  const texts = [content_text, thinking_text, result_text, ...names];
  const bytes = sql<number>`(${sql.join([...texts.map(toTextBytes), toJsonBytes(tool_input), toJsonBytes(metadata)], sql` + `)}
    + ${sql.raw(String(BLOCK_BYTES))})`;
  // Its limit makes Postgres measure each block once.
  const measured = database
    .select({ ...getTableColumns(contentBlocks), bytes: bytes.as('bytes') })
    .from(contentBlocks)
    .where(
      and(
        eq(contentBlocks.workspace_id, workspaceId),
        eq(contentBlocks.row_set_id, rowSetId),
        inArray(contentBlocks.message_id, messageIds),
      ),
    )
    .orderBy(asc(contentBlocks.message_id), asc(contentBlocks.block_order))
    .limit(Math.floor(maxBytes / BLOCK_BYTES) + 2)
    .as('measured');
  const isLeftOut = sql<boolean>`coalesce(sum(${measured.bytes}) OVER (ORDER BY ${measured.message_id}, ${measured.block_order}
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) >= ${maxBytes}`;
  const ifHeld = <Value>(column: SQL | SQL.Aliased | PgColumn) =>
    sql<Value>`CASE WHEN NOT ${isLeftOut} THEN ${column} END`;
  return await database
    .select({
      ...(Object.fromEntries(Object.keys(keys).map((name) => [name, measured[name as Key]])) as Pick<
        typeof measured,
        Key
      >),
      content_text: ifHeld<string | null>(measured.content_text),
      thinking_text: ifHeld<string | null>(measured.thinking_text),
      result_text: ifHeld<string | null>(measured.result_text),
      tool_input: ifHeld<ContentBlockRow['tool_input']>(measured.tool_input),
      metadata: ifHeld<ContentBlockRow['metadata']>(measured.metadata),
      bytes: measured.bytes,
      isLeftOut,
    })
    .from(measured)
    .orderBy(asc(measured.message_id), asc(measured.block_order));
}

/** Number of blocks of a message. */
export async function countBlocks(
  database: Database,
  { workspace_id, row_set_id, id }: Pick<MessageRow, 'workspace_id' | 'row_set_id' | 'id'>,
): Promise<number> {
  const [counted] = await database
    .select({ blocks: sql<number>`count(*)::int` })
    .from(contentBlocks)
    .where(
      and(
        eq(contentBlocks.workspace_id, workspace_id),
        eq(contentBlocks.row_set_id, row_set_id),
        eq(contentBlocks.message_id, id),
      ),
    );
  return counted?.blocks ?? 0;
}
