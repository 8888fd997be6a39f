import type { Database } from '../../database.ts';
import { and, eq } from '../../drizzle.cjs';
import { isLiveStream, type LiveStreamKey, type LiveStreamRow } from '../../queries/live/find-live-stream.ts';
import { liveChunks, liveStreams } from '../../schema/live.ts';
import { isAtPosition, type LiveFigures, type LivePosition } from './append-live-bytes.ts';

export type LiveEnding = LiveFigures &
  Pick<LiveStreamRow, 'ended_at' | 'success' | 'aborted' | 'error' | 'transcript_id' | 'arrivals'>;

/** Ends an open stream, which then is `closing`; undefined where somebody else has taken it over or ended it. */
export async function endLiveStream(
  transaction: Database,
  position: LivePosition,
  ending: LiveEnding,
): Promise<LiveStreamRow | undefined> {
  const [row] = await transaction
    .update(liveStreams)
    .set({ ...ending, state: 'closing' })
    .where(isAtPosition(position))
    .returning();
  return row;
}

/** Closes a stream whose bytes are in the raw store now, and deletes them here. */
export async function closeLiveStream(
  transaction: Database,
  key: LiveStreamKey,
  stored: Pick<LiveStreamRow, 'transcript_id' | 'object_key'>,
): Promise<LiveStreamRow | undefined> {
  const [row] = await transaction
    .update(liveStreams)
    .set({ ...stored, state: 'closed' })
    .where(and(isLiveStream(key), eq(liveStreams.state, 'closing')))
    .returning();
  await transaction
    .delete(liveChunks)
    .where(and(eq(liveChunks.workspace_id, key.workspaceId), eq(liveChunks.stream_id, key.streamId)));
  return row;
}
