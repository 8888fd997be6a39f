import type { Database } from '../database/database.ts';
import { and, desc, eq, gte, lte, ne } from '../drizzle.cjs';
import type { LiveStreamRow } from './find-live-stream.ts';
import { liveStreams } from './schema.ts';

/** Of lengths in bytes, bounds included. */
export interface EndedStreamFilter {
  minBytes: number;
  maxBytes?: number;
  /** Only those that were given up. */
  aborted: boolean;
}

/** The other streams of the same session and agent that have ended, stored or not, and count in totals: the longest first. */
export async function listEndedStreams(
  database: Database,
  stream: Pick<LiveStreamRow, 'workspace_id' | 'session_id' | 'agent' | 'id'>,
  { minBytes, maxBytes, aborted }: EndedStreamFilter,
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
        ne(liveStreams.state, 'open'),
        eq(liveStreams.is_counted, true),
        gte(liveStreams.stored_bytes, minBytes),
        maxBytes === undefined ? undefined : lte(liveStreams.stored_bytes, maxBytes),
        aborted ? eq(liveStreams.aborted, true) : undefined,
      ),
    )
    .orderBy(desc(liveStreams.stored_bytes), desc(liveStreams.id))
    .limit(limit);
}
