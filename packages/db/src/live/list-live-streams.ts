import type { Database } from '../database/database.ts';
import { and, desc, eq, getTableColumns, lt, ne, or, sql } from '../drizzle.cjs';
import type { LiveStreamKey, LiveStreamRow } from './find-live-stream.ts';
import { liveStreams } from './schema.ts';

const { arrivals: _arrivals, ...LISTED_COLUMNS } = getTableColumns(liveStreams);

export type ListedLiveStream = Omit<LiveStreamRow, 'arrivals'>;

export interface LiveStreamFilter {
  /** Only open ones, or only others. */
  isOpen?: boolean | undefined;
  sessionId?: string | undefined;
}

/** A workspace's streams, the newest first. */
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

/** Of all workspaces: open ones that were last heard of before `silentSince`, and ended ones that wait since `endedBefore`. */
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
        // As the partial index has it.
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
