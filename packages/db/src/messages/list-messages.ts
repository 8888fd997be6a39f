import type { Database } from '../database/database.ts';
import { and, asc, eq, gt, gte, inArray } from '../drizzle.cjs';
import { contentBlocks, transcriptMessages } from '../schema/messages.ts';

type MessageRow = typeof transcriptMessages.$inferSelect;
export type ContentBlockRow = typeof contentBlocks.$inferSelect;

/**
 * Messages of a transcript, by its `row_set_id`, in order with their blocks, at most `limit`, after the one with id
 * `afterId` or starting with `fromId`.
 */
export async function listMessages(
  database: Database,
  workspaceId: string,
  rowSetId: string,
  page: { afterId?: string | undefined; fromId?: string | undefined; limit: number },
): Promise<{ message: MessageRow; blocks: ContentBlockRow[] }[]> {
  const messages = await database
    .select()
    .from(transcriptMessages)
    .where(
      and(
        eq(transcriptMessages.workspace_id, workspaceId),
        eq(transcriptMessages.row_set_id, rowSetId),
        page.afterId === undefined ? undefined : gt(transcriptMessages.id, page.afterId),
        page.fromId === undefined ? undefined : gte(transcriptMessages.id, page.fromId),
      ),
    )
    .orderBy(asc(transcriptMessages.id))
    .limit(page.limit);
  if (messages.length === 0) return [];
  const blocks = await database
    .select()
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
  const blocksByMessage = Map.groupBy(blocks, ({ message_id }) => message_id);
  return messages.map((message) => ({ message, blocks: blocksByMessage.get(message.id) ?? [] }));
}
