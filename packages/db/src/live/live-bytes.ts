import type { Database } from '../database/database.ts';
import { and, asc, desc, eq, gte, lte, sql } from '../drizzle.cjs';
import { liveChunks, liveStreams } from '../schema/live.ts';
import { isAtPosition, type LiveFigures, type LivePosition, type LiveStreamKey } from './live-streams.ts';

/**
 * Appends bytes to an open stream, or, if there are none, records that its reader was polled. Returns false, doing
 * nothing, if another request has taken it over or ended it.
 */
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
  if (bytes.length === 0) {
    await notePoll(transaction, position, receivedAt);
    return true;
  }
  await transaction.insert(liveChunks).values({
    workspace_id: workspaceId,
    stream_id: streamId,
    byte_offset: storedBytes,
    bytes,
    received_at: receivedAt,
  });
  return true;
}

/** Recorded with the last chunk of the stream. Nothing has come since. */
async function notePoll(
  transaction: Database,
  { workspaceId, streamId, storedBytes }: LivePosition,
  polledAt: string,
): Promise<void> {
  const byteOffset = await findChunkOffset(transaction, { workspaceId, streamId }, storedBytes);
  await transaction
    .update(liveChunks)
    .set({ polled_at: polledAt })
    .where(and(isOfStream(workspaceId, streamId), eq(liveChunks.byte_offset, byteOffset)));
}

interface LiveChunk {
  byteOffset: number;
  bytes: Uint8Array;
  /** ISO 8601 in UTC. */
  receivedAt: string;
  /** The reader's last emission of waiting events before the next chunk; ISO 8601 in UTC. Null if it never did. */
  polledAt: string | null;
}

/** Chunks in memory together. Their writer bounds their size. */
const CHUNKS_PER_QUERY = 16;

/** The bytes of a stream in order, starting with the chunk that contains `fromByte`. Throws if some are missing. */
export async function* readLiveChunks(
  database: Database,
  { workspaceId, streamId }: LiveStreamKey,
  fromByte = 0,
): AsyncGenerator<LiveChunk> {
  let offset = fromByte === 0 ? 0 : await findChunkOffset(database, { workspaceId, streamId }, fromByte);
  for (;;) {
    const chunks = await database
      .select({
        byteOffset: liveChunks.byte_offset,
        bytes: liveChunks.bytes,
        receivedAt: liveChunks.received_at,
        polledAt: liveChunks.polled_at,
      })
      .from(liveChunks)
      .where(and(isOfStream(workspaceId, streamId), gte(liveChunks.byte_offset, offset)))
      .orderBy(asc(liveChunks.byte_offset))
      .limit(CHUNKS_PER_QUERY);
    for (const chunk of chunks) {
      if (chunk.byteOffset !== offset) throw new Error(`The stream lacks its bytes from ${offset}`);
      offset += chunk.bytes.length;
      yield chunk;
    }
    if (chunks.length < CHUNKS_PER_QUERY) return;
  }
}

/** The start of the chunk that contains that offset. */
async function findChunkOffset(
  database: Database,
  { workspaceId, streamId }: LiveStreamKey,
  byteOffset: number,
): Promise<number> {
  const [row] = await database
    .select({ byteOffset: liveChunks.byte_offset })
    .from(liveChunks)
    .where(and(isOfStream(workspaceId, streamId), lte(liveChunks.byte_offset, byteOffset)))
    .orderBy(desc(liveChunks.byte_offset))
    .limit(1);
  return row?.byteOffset ?? 0;
}

/** The arrival and the end of each chunk. */
export async function listLiveArrivals(
  database: Database,
  { workspaceId, streamId }: LiveStreamKey,
): Promise<[endOffset: number, timeMs: number][]> {
  const rows = await database
    .select({
      endOffset: sql<number>`(byte_offset + length(bytes))::float8`,
      receivedAt: liveChunks.received_at,
    })
    .from(liveChunks)
    .where(isOfStream(workspaceId, streamId))
    .orderBy(asc(liveChunks.byte_offset));
  return rows.map(({ endOffset, receivedAt }) => [endOffset, Date.parse(receivedAt)]);
}

const isOfStream = (workspaceId: string, streamId: string) =>
  and(eq(liveChunks.workspace_id, workspaceId), eq(liveChunks.stream_id, streamId));
