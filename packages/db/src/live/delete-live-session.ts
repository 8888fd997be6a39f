import type { Database } from '../database/database.ts';
import { and, eq, sql } from '../drizzle.cjs';
import { isLiveSession, type LiveSessionKey } from './find-live-session.ts';
import { liveChunks, liveEvents, liveSessions, liveStreams } from './schema.ts';

/** What a session's streams leave behind. */
export interface DeletedStreams {
  /** Of the raw objects of those that are no transcripts. */
  objectKeys: string[];
  /** Of those that are being stored, under a key that their row does not name yet. */
  closingIds: string[];
}

/**
 * Deletes all that a session has of streams. Returns what the caller records as to be deleted; undefined where the session
 * never had a stream.
 */
export async function deleteLiveSession(
  transaction: Database,
  key: LiveSessionKey,
): Promise<DeletedStreams | undefined> {
  const { workspaceId, sessionId } = key;
  const deleted = await transaction
    .delete(liveStreams)
    .where(and(eq(liveStreams.workspace_id, workspaceId), eq(liveStreams.session_id, sessionId)))
    .returning({
      id: liveStreams.id,
      state: liveStreams.state,
      objectKey: liveStreams.object_key,
      transcriptId: liveStreams.transcript_id,
    });
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
  const closing = deleted.filter(({ state, transcriptId }) => state === 'closing' && transcriptId === null);
  return {
    objectKeys: deleted.flatMap(({ objectKey }) => objectKey ?? []),
    closingIds: closing.map(({ id }) => id),
  };
}
