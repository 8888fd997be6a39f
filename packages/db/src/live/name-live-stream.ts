import type { Database } from '../database/database.ts';
import { and, eq, sql } from '../drizzle.cjs';
import { liveEvents, liveSessions, liveStreams } from '../schema/live.ts';
import { LIVE_CHANNEL, lockLiveSession, toLiveBell } from './live-events.ts';
import { isLiveSession } from './live-sessions.ts';
import { findLiveStream, isLiveStream, type LiveStreamKey } from './live-streams.ts';

/**
 * Moves an open stream that was sent under its own id, because its first lines named no session, to the session that it
 * has named since. Its events are appended to the session's. Leaves any other stream unchanged.
 */
export async function nameLiveStream(
  transaction: Database,
  { workspaceId, streamId }: LiveStreamKey,
  sessionId: string,
): Promise<void> {
  if (sessionId === streamId) return;
  const unnamed = { workspaceId, sessionId: streamId };
  const moved = await transaction
    .update(liveStreams)
    .set({ session_id: sessionId })
    .where(
      and(isLiveStream({ workspaceId, streamId }), eq(liveStreams.state, 'open'), eq(liveStreams.session_id, streamId)),
    )
    .returning({ id: liveStreams.id });
  if (moved.length === 0) return;
  const session = await lockLiveSession(transaction, { workspaceId, sessionId });
  const events = await transaction.execute<{ id: number }>(sql`
    UPDATE ${liveEvents}
    SET session_id = ${sessionId}, id = id + ${session.last_event_id}::bigint
    WHERE workspace_id = ${workspaceId} AND session_id = ${streamId} AND stream_id = ${streamId}
    RETURNING id`);
  await transaction
    .update(liveSessions)
    .set({
      last_event_id: session.last_event_id + events.rows.length,
      checkpoints: sql`${liveSessions.checkpoints} || COALESCE((
        SELECT u.checkpoints FROM ${liveSessions} AS u
        WHERE u.workspace_id = ${workspaceId} AND u.session_id = ${streamId}), '{}')`,
    })
    .where(isLiveSession({ workspaceId, sessionId }));
  await transaction.execute(sql`
    DELETE FROM ${liveSessions} AS u
    WHERE u.workspace_id = ${workspaceId} AND u.session_id = ${streamId} AND NOT EXISTS (
      SELECT FROM ${liveStreams} AS s WHERE s.workspace_id = ${workspaceId} AND s.session_id = ${streamId})`);
  // Its readers continue in the session that it belongs to now.
  await transaction.execute(sql`SELECT pg_notify(${LIVE_CHANNEL}, ${toLiveBell(unnamed)})`);
}

/**
 * The place for a reader of a stream under its own id, after event `afterId`; undefined if the stream has not been
 * named since.
 */
export async function findNamedStream(
  database: Database,
  { workspaceId, streamId }: LiveStreamKey,
  afterId: number,
): Promise<{ sessionId: string; afterId: number } | undefined> {
  const stream = await findLiveStream(database, { workspaceId, streamId });
  if (stream === undefined || stream.session_id === streamId) return undefined;
  const sessionId = stream.session_id;
  const [first] = await database
    .select({ id: sql<number | null>`min(${liveEvents.id})::float8` })
    .from(liveEvents)
    .where(
      and(
        eq(liveEvents.workspace_id, workspaceId),
        eq(liveEvents.session_id, sessionId),
        eq(liveEvents.stream_id, streamId),
      ),
    );
  return { sessionId, afterId: (first?.id ?? 1) - 1 + afterId };
}
