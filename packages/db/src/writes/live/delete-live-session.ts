import type { Database } from '../../database.ts';
import { and, eq, sql } from '../../drizzle.cjs';
import { isLiveSession, type LiveSessionKey } from '../../queries/live/find-live-session.ts';
import { liveChunks, liveEvents, liveSessions, liveStreams } from '../../schema/live.ts';

/**
 * Deletes all that a session has of streams. Returns the keys of the raw objects of those that are no transcripts, which
 * the caller deletes; undefined where the session never had a stream.
 */
export async function deleteLiveSession(transaction: Database, key: LiveSessionKey): Promise<string[] | undefined> {
  const { workspaceId, sessionId } = key;
  const deleted = await transaction
    .delete(liveStreams)
    .where(and(eq(liveStreams.workspace_id, workspaceId), eq(liveStreams.session_id, sessionId)))
    .returning({ id: liveStreams.id, objectKey: liveStreams.object_key });
  const ids = deleted.map(({ id }) => id);
  await transaction.execute(sql`
    DELETE FROM ${liveChunks} WHERE workspace_id = ${workspaceId} AND stream_id = ANY(${sql.param(ids)}::text[])`);
  await transaction
    .delete(liveEvents)
    .where(and(eq(liveEvents.workspace_id, workspaceId), eq(liveEvents.session_id, sessionId)));
  const sessions = await transaction
    .delete(liveSessions)
    .where(isLiveSession(key))
    .returning({ id: liveSessions.session_id });
  if (sessions.length === 0) return undefined;
  return deleted.flatMap(({ objectKey }) => objectKey ?? []);
}
