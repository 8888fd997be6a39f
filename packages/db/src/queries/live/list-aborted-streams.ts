import type { Database } from '../../database.ts';
import { and, desc, eq, gt, lte, ne } from '../../drizzle.cjs';
import { liveStreams } from '../../schema/live.ts';
import type { LiveStreamRow } from './find-live-stream.ts';

/** Streams of the same session and agent that were given up, and are stored, with at most `maxBytes`: the longest first. */
export async function listAbortedStreams(
  database: Database,
  stream: Pick<LiveStreamRow, 'workspace_id' | 'session_id' | 'agent' | 'id'>,
  { maxBytes, limit }: { maxBytes: number; limit: number },
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
        eq(liveStreams.aborted, true),
        gt(liveStreams.stored_bytes, 0),
        lte(liveStreams.stored_bytes, maxBytes),
      ),
    )
    .orderBy(desc(liveStreams.stored_bytes), desc(liveStreams.id))
    .limit(limit);
}
