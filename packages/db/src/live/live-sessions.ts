import type { Database } from '../database/database.ts';
import { and, desc, eq, getTableColumns, lt, ne, or, sql } from '../drizzle.cjs';
import { liveChunks, liveEvents, liveSessions, liveStreams } from '../schema/live.ts';
import type { LiveStreamKey, LiveStreamRow } from './live-streams.ts';

export interface LiveSessionKey {
  workspaceId: string;
  sessionId: string;
}

export type LiveSessionRow = typeof liveSessions.$inferSelect;

export const isLiveSession = ({ workspaceId, sessionId }: LiveSessionKey) =>
  and(eq(liveSessions.workspace_id, workspaceId), eq(liveSessions.session_id, sessionId));

/** A session's live totals and its number of open streams; undefined if it never had a stream. */
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

const { arrivals: _arrivals, ...LISTED_COLUMNS } = getTableColumns(liveStreams);

export type ListedLiveStream = Omit<LiveStreamRow, 'arrivals'>;

interface LiveStreamFilter {
  /** Only open streams, or only others. */
  isOpen?: boolean | undefined;
  sessionId?: string | undefined;
}

/** A workspace's streams, newest first. */
export async function listLiveStreams(
  database: Database,
  workspaceId: string,
  { isOpen, sessionId }: LiveStreamFilter,
  limit: number,
): Promise<ListedLiveStream[]> {
  return await database
    .select(LISTED_COLUMNS)
    .from(liveStreams)
    .where(
      and(
        eq(liveStreams.workspace_id, workspaceId),
        isOpen === undefined ? undefined : (isOpen ? eq : ne)(liveStreams.state, 'open'),
        sessionId === undefined ? undefined : eq(liveStreams.session_id, sessionId),
      ),
    )
    .orderBy(desc(liveStreams.started_at), desc(liveStreams.id))
    .limit(limit);
}

/**
 * Lists the streams of all workspaces that are open and have been silent since `silentSince`, or ended before
 * `endedBefore` and are not closed yet.
 */
export async function listNeglectedStreams(
  database: Database,
  { silentSince, endedBefore }: { silentSince: string; endedBefore: string },
  limit: number,
): Promise<(LiveStreamKey & { state: LiveStreamRow['state'] })[]> {
  return await database
    .select({ workspaceId: liveStreams.workspace_id, streamId: liveStreams.id, state: liveStreams.state })
    .from(liveStreams)
    .where(
      and(
        // Written like the condition of the partial index.
        sql`state <> 'closed'`,
        or(
          and(eq(liveStreams.state, 'open'), lt(liveStreams.last_received_at, silentSince)),
          and(eq(liveStreams.state, 'closing'), lt(liveStreams.ended_at, endedBefore)),
        ),
      ),
    )
    .orderBy(liveStreams.last_received_at)
    .limit(limit);
}

/** The rest to delete of a session's streams. */
interface DeletedStreams {
  /** Keys of the raw objects of streams that are not transcripts. */
  objectKeys: string[];
  /** Streams being stored, under the transcript's key or else the stream's, which no row names yet. */
  closing: { id: string; transcriptId: string | null }[];
}

/**
 * Deletes everything about a session's streams. Returns what the caller must record for deletion; undefined if the
 * session never had a stream.
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
  return {
    objectKeys: deleted.flatMap(({ objectKey }) => objectKey ?? []),
    closing: deleted.filter(({ state }) => state === 'closing'),
  };
}
