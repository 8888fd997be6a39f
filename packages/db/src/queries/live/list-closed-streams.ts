import type { Database } from '../../database.ts';
import { and, desc, eq, gte, lte, ne } from '../../drizzle.cjs';
import { liveStreams } from '../../schema/live.ts';
import type { LiveStreamRow } from './find-live-stream.ts';

/** Of lengths in bytes, bounds included. */
export interface ClosedStreamFilter {
  minBytes: number;
  maxBytes?: number;
  /** Only those that were given up. */
  aborted: boolean;
}

/** The other streams of the same session and agent that have ended and are stored: the longest first. */
export async function listClosedStreams(
  database: Database,
  stream: Pick<LiveStreamRow, 'workspace_id' | 'session_id' | 'agent' | 'id'>,
  { minBytes, maxBytes, aborted }: ClosedStreamFilter,
  limit: number,
): Promise<LiveStreamRow[]> {
  return await database
    .select()
    .from(liveStreams)
    .where(
      and(
        eq(liveStreams.workspace_id, stream.workspace_id),
        eq(liveStreams.session_id, stream.session_id),
        eq(liveStreams.agent, stream.agent),
        ne(liveStreams.id, stream.id),
        eq(liveStreams.state, 'closed'),
        gte(liveStreams.stored_bytes, minBytes),
        maxBytes === undefined ? undefined : lte(liveStreams.stored_bytes, maxBytes),
        aborted ? eq(liveStreams.aborted, true) : undefined,
      ),
    )
    .orderBy(desc(liveStreams.stored_bytes), desc(liveStreams.id))
    .limit(limit);
}
