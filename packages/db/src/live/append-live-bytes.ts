import type { Database } from '../database/database.ts';
import { and, eq } from '../drizzle.cjs';
import { isLiveStream, type LiveStreamKey } from './find-live-stream.ts';
import { liveChunks, liveStreams } from './schema.ts';

/** What a stream has told so far. */
export type LiveFigures = Pick<
  typeof liveStreams.$inferSelect,
  | 'line_count'
  | 'warning_count'
  | 'agent_session_id'
  | 'model'
  | 'tokens_in'
  | 'tokens_out'
  | 'cache_read'
  | 'cache_write'
  | 'cost_usd'
  | 'stop_reason'
>;

/** Who appends, and how many bytes there are to its knowledge. */
export interface LivePosition extends LiveStreamKey {
  writerId: string;
  storedBytes: number;
}

export const isAtPosition = (position: LivePosition) =>
  and(
    isLiveStream(position),
    eq(liveStreams.state, 'open'),
    eq(liveStreams.writer_id, position.writerId),
    eq(liveStreams.stored_bytes, position.storedBytes),
  );

/** Appends bytes, which may be none, to an open stream. False, and nothing done, where somebody else has taken it over or ended it. */
export async function appendLiveBytes(
  transaction: Database,
  position: LivePosition,
  { bytes, receivedAt, figures }: { bytes: Uint8Array; receivedAt: string; figures: LiveFigures },
): Promise<boolean> {
  const { workspaceId, streamId, storedBytes } = position;
  const updated = await transaction
    .update(liveStreams)
    .set({ ...figures, stored_bytes: storedBytes + bytes.length, last_received_at: receivedAt })
    .where(isAtPosition(position))
    .returning({ id: liveStreams.id });
  if (updated.length === 0) return false;
  if (bytes.length === 0) return true;
  await transaction.insert(liveChunks).values({
    workspace_id: workspaceId,
    stream_id: streamId,
    byte_offset: storedBytes,
    bytes,
    received_at: receivedAt,
  });
  return true;
}
