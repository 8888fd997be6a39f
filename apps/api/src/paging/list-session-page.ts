import type { SessionList } from '@recount/contract';
import {
  type Database,
  listSessions,
  readSessionErrors,
  type SessionErrors,
  type SessionRow,
  SESSION_SORTS,
  type SessionCursor,
  type SessionFilter,
  type SessionPage,
} from '@recount/db';
import { z } from 'zod';
import { invalidCursor, parseCursor, toCursor } from './cursor.ts';

/** The sort belongs to the cursor: its key means nothing in another one. */
const cursorSchema = z.strictObject({
  sort: z.enum(SESSION_SORTS),
  order: z.enum(['asc', 'desc']),
  key: z.string().max(100),
  id: z.string(),
});

/** SQLSTATE class of values that are not what their type says. */
const DATA_EXCEPTION = '22';

/** A page of a workspace's sessions. Throws ProblemError `invalid-cursor`. */
export async function listSessionPage(
  database: Database,
  workspaceId: string,
  filter: SessionFilter,
  { sort, order, limit, cursor }: Omit<SessionPage, 'after'> & { cursor?: string | undefined },
): Promise<SessionList> {
  const after = parseCursor(cursorSchema, cursor);
  if (after !== undefined && (after.sort !== sort || after.order !== order || after.id.includes('\0'))) {
    throw invalidCursor();
  }
  const position: SessionCursor | undefined = after && { sortKey: after.key, sessionId: after.id };
  try {
    const { rows, next } = await listSessions(database, workspaceId, filter, { sort, order, limit, after: position });
    const sessions = await addErrorCounts(database, workspaceId, rows);
    const nextCursor = next && toCursor({ sort, order, key: next.sortKey, id: next.sessionId });
    return { sessions, next_cursor: nextCursor ?? null };
  } catch (error) {
    // Postgres alone knows how it prints a sort key, so it alone can tell that this is none.
    if (after !== undefined && isDataException(error)) throw invalidCursor();
    throw error;
  }
}

/** Sessions as they are answered: with counts of what failed. */
export async function addErrorCounts<Row extends SessionRow>(
  database: Database,
  workspaceId: string,
  rows: readonly Row[],
): Promise<(Row & SessionErrors)[]> {
  const ids = rows.map(({ session_id }) => session_id);
  const errors = await readSessionErrors(database, workspaceId, ids);
  const none: SessionErrors = { tool_error_count: 0, api_error_count: 0 };
  return rows.map((row) => ({ ...row, ...(errors.get(row.session_id) ?? none) }));
}

function isDataException(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const { code } = (cause ?? {}) as { code?: unknown };
  return typeof code === 'string' && code.length === 5 && code.startsWith(DATA_EXCEPTION);
}
