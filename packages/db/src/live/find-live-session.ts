import type { Database } from '../database/database.ts';
import { and, eq, sql } from '../drizzle.cjs';
import { liveSessions, liveStreams } from './schema.ts';

export interface LiveSessionKey {
  workspaceId: string;
  sessionId: string;
}

export type LiveSessionRow = typeof liveSessions.$inferSelect;

export const isLiveSession = ({ workspaceId, sessionId }: LiveSessionKey) =>
  and(eq(liveSessions.workspace_id, workspaceId), eq(liveSessions.session_id, sessionId));

/** What a session has of streams, with the number of those that are open; undefined where it never had one. */
export async function findLiveSession(
  database: Database,
  key: LiveSessionKey,
): Promise<(LiveSessionRow & { running_count: number }) | undefined> {
  const runningCount = sql<number>`(
    SELECT count(*)::int FROM ${liveStreams} AS s
    WHERE s.workspace_id = ${key.workspaceId} AND s.session_id = ${key.sessionId} AND s.state = 'open')`;
  const [found] = await database
    .select({ row: liveSessions, running_count: runningCount })
    .from(liveSessions)
    .where(isLiveSession(key));
  return found && { ...found.row, running_count: found.running_count };
}
