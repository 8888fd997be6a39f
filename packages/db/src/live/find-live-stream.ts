import type { Database } from '../database/database.ts';
import { and, eq } from '../drizzle.cjs';
import { liveStreams } from './schema.ts';

export type LiveStreamRow = typeof liveStreams.$inferSelect;

export interface LiveStreamKey {
  workspaceId: string;
  streamId: string;
}

export const isLiveStream = ({ workspaceId, streamId }: LiveStreamKey) =>
  and(eq(liveStreams.workspace_id, workspaceId), eq(liveStreams.id, streamId));

export async function findLiveStream(database: Database, key: LiveStreamKey): Promise<LiveStreamRow | undefined> {
  const [row] = await database.select().from(liveStreams).where(isLiveStream(key));
  return row;
}

/** The stream that a transcript was; undefined where it was none. */
export async function findStreamOfTranscript(
  database: Database,
  workspaceId: string,
  transcriptId: string,
): Promise<LiveStreamRow | undefined> {
  const [row] = await database
    .select()
    .from(liveStreams)
    .where(and(eq(liveStreams.workspace_id, workspaceId), eq(liveStreams.transcript_id, transcriptId)))
    .limit(1);
  return row;
}
