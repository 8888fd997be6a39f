import type { Arrival } from '@recount/core';
import type { Database } from '../database/database.ts';
import { and, eq } from '../drizzle.cjs';
import { liveStreams } from './schema.ts';

/** When the bytes of a transcript came that was a stream; empty where it was none. */
export async function findTranscriptArrivals(
  database: Database,
  workspaceId: string,
  transcriptId: string,
): Promise<Arrival[]> {
  const [row] = await database
    .select({ arrivals: liveStreams.arrivals })
    .from(liveStreams)
    .where(and(eq(liveStreams.workspace_id, workspaceId), eq(liveStreams.transcript_id, transcriptId)))
    .limit(1);
  return (row?.arrivals ?? []).map(([endOffset, timeMs]) => ({ endOffset, timeMs }));
}
