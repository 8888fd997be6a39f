import type { Database } from '../database/database.ts';
import { and, eq, inArray } from '../drizzle.cjs';
import { isAtPosition, type LiveFigures, type LivePosition } from './append-live-bytes.ts';
import { isLiveStream, type LiveStreamKey, type LiveStreamRow } from './find-live-stream.ts';
import { liveChunks, liveStreams } from './schema.ts';

export type LiveEnding = LiveFigures &
  Pick<LiveStreamRow, 'ended_at' | 'success' | 'aborted' | 'is_counted' | 'error' | 'transcript_id' | 'arrivals'>;

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

/** Streams that count in their session's totals count no more. Returns those that did. */
export async function uncountLiveStreams(
  transaction: Database,
  workspaceId: string,
  streamIds: readonly string[],
): Promise<LiveStreamRow[]> {
  if (streamIds.length === 0) return [];
  const counted = await transaction
    .select({ id: liveStreams.id })
    .from(liveStreams)
    .where(
      and(
        eq(liveStreams.workspace_id, workspaceId),
        inArray(liveStreams.id, [...streamIds]),
        eq(liveStreams.is_counted, true),
      ),
    )
    .orderBy(liveStreams.id)
    .for('no key update');
  const ids = counted.map(({ id }) => id);
  if (ids.length === 0) return [];
  return await transaction
    .update(liveStreams)
    .set({ is_counted: false })
    .where(and(eq(liveStreams.workspace_id, workspaceId), inArray(liveStreams.id, ids)))
    .returning();
}

/** Closes a stream whose bytes are in the raw store now, and deletes them here. */
export async function closeLiveStream(
  transaction: Database,
  key: LiveStreamKey,
  stored: Pick<LiveStreamRow, 'transcript_id' | 'object_key' | 'sha256'>,
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
