import { MAX_PAGE_BYTES, type Message, type SubagentList } from '@recount/contract';
import {
  countBlocks,
  type Database,
  listMessages,
  listSessions,
  presentSessions,
  type RowSetKey,
  SESSION_SORTS,
  type SessionCursor,
  type SessionFilter,
  type SessionPage,
} from '@recount/db';
import { type ZodType, z } from 'zod';
import { ProblemError } from '../problems/problem-error.ts';

/** An opaque cursor that encodes `value`. */
export function toCursor(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/**
 * The value of a cursor; undefined if there is none. Throws ProblemError `invalid-cursor` for a cursor of another list.
 */
export function parseCursor<Value>(schema: ZodType<Value>, cursor: string | undefined): Value | undefined {
  if (cursor === undefined) return undefined;
  const result = schema.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString()));
  if (!result.success) throw invalidCursor();
  return result.data;
}

export function invalidCursor(): ProblemError {
  return new ProblemError('invalid-cursor', 'Take next_cursor from an answer of this list, with the same parameters');
}

/** Undefined if it is not JSON, or contains NUL, which Postgres cannot compare with any text. */
function parseJson(json: string): unknown {
  try {
    return JSON.parse(json, (_key, value: unknown) => {
      if (typeof value === 'string' && value.includes('\0')) throw new TypeError('NUL in a cursor');
      return value;
    });
  } catch {
    return undefined;
  }
}

/** The first `limit` of rows that were read with one more, and the cursor after them if there are more. */
export function cutPage<Row>(rows: readonly Row[], limit: number, toPosition: (last: Row) => unknown) {
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return { page, next_cursor: last === undefined ? null : toCursor(toPosition(last)) };
}

/** Messages read at a time. */
const MESSAGES_PER_READ = 20;

const messageCursorSchema = z.strictObject({ message: z.string().regex(/^[0-9A-Z]{26}$/) });

interface MessagePage {
  messages: Message[];
  next_cursor: string | null;
}

interface MessagePageQuery {
  limit: number;
  cursor?: string | undefined;
  fromId?: string | undefined;
  /** Default MAX_PAGE_BYTES. */
  maxBytes?: number | undefined;
}

/**
 * Messages of a transcript with their blocks, from `fromId` or the beginning, at most `limit`, fewer if their blocks are
 * longer than `maxBytes`. The first message is always there; blocks of it after the limit are counted and left out. A
 * cursor contains the id of a message, which does not change in a re-parse or a longer version of the session, so the
 * next page continues after it. Throws ProblemError `invalid-cursor`.
 */
export async function listMessagePage(
  database: Database,
  { workspaceId, rowSetId }: RowSetKey,
  { limit, cursor, fromId, maxBytes = MAX_PAGE_BYTES }: MessagePageQuery,
): Promise<MessagePage> {
  let afterId = parseCursor(messageCursorSchema, cursor)?.message;
  const messages: Message[] = [];
  let leftBytes = maxBytes;
  for (;;) {
    // One more than needed shows whether there is a next page.
    const wanted = Math.min(MESSAGES_PER_READ, limit - messages.length);
    const range = { afterId, fromId, limit: wanted + 1, maxBytes: leftBytes };
    const found = await listMessages(database, workspaceId, rowSetId, range);
    for (const { message, blocks, bytes, isCut } of found.slice(0, wanted)) {
      if ((isCut || leftBytes <= 0) && afterId !== undefined && messages.length > 0)
        return { messages, next_cursor: toMessageCursor(afterId) };
      const leftOutCount = isCut ? (await countBlocks(database, message)) - blocks.length : 0;
      messages.push({ ...message, content_blocks: blocks, left_out_block_count: leftOutCount });
      leftBytes -= bytes;
      afterId = message.id;
    }
    if (found.length <= wanted || afterId === undefined) return { messages, next_cursor: null };
    if (messages.length >= limit || leftBytes <= 0) return { messages, next_cursor: toMessageCursor(afterId) };
  }
}

const toMessageCursor = (message: string): string => toCursor({ message });

/** The sort order is part of the cursor, because its key means nothing in another one. */
const sessionCursorSchema = z.strictObject({
  sort: z.enum(SESSION_SORTS),
  order: z.enum(['asc', 'desc']),
  key: z.string().max(100),
  id: z.string(),
});

/** SQLSTATE class of values that are invalid for their type. */
const DATA_EXCEPTION = '22';

/** A page of a workspace's sessions. Throws ProblemError `invalid-cursor`. */
export async function listSessionPage(
  database: Database,
  workspaceId: string,
  filter: SessionFilter,
  { sort, order, limit, cursor }: Omit<SessionPage, 'after'> & { cursor?: string | undefined },
): Promise<SubagentList> {
  const after = parseCursor(sessionCursorSchema, cursor);
  if (after !== undefined && (after.sort !== sort || after.order !== order)) {
    throw invalidCursor();
  }
  const position: SessionCursor | undefined = after && { sortKey: after.key, sessionId: after.id };
  try {
    const { rows, next } = await listSessions(database, workspaceId, filter, { sort, order, limit, after: position });
    const sessions = await presentSessions(database, workspaceId, rows);
    const nextCursor = next && toCursor({ sort, order, key: next.sortKey, id: next.sessionId });
    return { sessions, next_cursor: nextCursor ?? null };
  } catch (error) {
    // Only Postgres knows how it prints a sort key, so only Postgres can reject an invalid one.
    if (after !== undefined && isDataException(error)) throw invalidCursor();
    throw error;
  }
}

function isDataException(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const { code } = (cause ?? {}) as { code?: unknown };
  return typeof code === 'string' && code.length === 5 && code.startsWith(DATA_EXCEPTION);
}
