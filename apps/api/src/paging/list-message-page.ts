import type { Message } from '@recount/contract';
import { type ContentBlockRow, type Database, listMessages, type RowSetKey } from '@recount/db';
import { z } from 'zod';
import { parseCursor, toCursor } from './cursor.ts';

/** Messages read at a time; what the page's bound in bytes may be exceeded by. */
const MESSAGES_PER_READ = 20;
/** A page ends after it, however many messages were asked for. */
const MAX_PAGE_TEXT_LENGTH = 8 * 1024 * 1024;

const cursorSchema = z.strictObject({ message: z.string().regex(/^[0-9A-Z]{26}$/) });

interface MessagePage {
  messages: Message[];
  next_cursor: string | null;
}

/**
 * Messages of a transcript with their blocks: at most `limit`, and fewer where their texts are long. A cursor holds
 * the id of a message, which is the same after a re-parse and in a longer version of the session: a page begun before
 * either goes on after it. Throws ProblemError `invalid-cursor`.
 */
export async function listMessagePage(
  database: Database,
  { workspaceId, rowSetId }: RowSetKey,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<MessagePage> {
  let afterId = parseCursor(cursorSchema, cursor)?.message;
  const messages: Message[] = [];
  let textLength = 0;
  for (;;) {
    // One more than is taken tells whether there is a next page.
    const wanted = Math.min(MESSAGES_PER_READ, limit - messages.length);
    const found = await listMessages(database, workspaceId, rowSetId, { afterId, limit: wanted + 1 });
    for (const { message, blocks } of found.slice(0, wanted)) {
      messages.push({ ...message, content_blocks: blocks });
      for (const block of blocks) textLength += measureBlock(block);
    }
    afterId = messages.at(-1)?.id;
    if (found.length <= wanted || afterId === undefined) return { messages, next_cursor: null };
    if (messages.length >= limit || textLength > MAX_PAGE_TEXT_LENGTH) {
      return { messages, next_cursor: toCursor({ message: afterId }) };
    }
  }
}

function measureBlock({ content_text, thinking_text, result_text, tool_input }: ContentBlockRow): number {
  const inputLength = tool_input === null ? 0 : JSON.stringify(tool_input).length;
  return (content_text?.length ?? 0) + (thinking_text?.length ?? 0) + (result_text?.length ?? 0) + inputLength;
}
