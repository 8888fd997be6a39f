import type { Arrival } from '@recount/core';
import type { Database } from '../database/database.ts';
import { isAfter, readPages } from '../database/read-pages.ts';
import { and, asc, eq, isNotNull, sql } from '../drizzle.cjs';
import { liveStreams } from '../schema/live.ts';

/** Inserts a stream that is already in the raw store. Returns false, doing nothing, if there is one with that id. */
export async function insertStoredStream(
  transaction: Database,
  stream: Omit<typeof liveStreams.$inferInsert, 'state' | 'has_events'>,
): Promise<boolean> {
  const inserted = await transaction
    .insert(liveStreams)
    .values({ ...stream, state: 'closed', has_events: false })
    .onConflictDoNothing()
    .returning({ id: liveStreams.id });
  return inserted.length > 0;
}

export interface StoredStream {
  workspaceId: string;
  streamId: string;
  objectKey: string;
  sizeBytes: number;
  /** Hex; null if it was stored without a checksum. */
  sha256: string | null;
}

const PAGE_ROWS = 1000;

/** Every stream of a workspace, or of all, that is stored as received, page by page, for maintenance only. */
export function listStoredStreams(database: Database, workspaceId?: string): AsyncGenerator<StoredStream[]> {
  const { workspace_id, id, object_key } = liveStreams;
  return readPages<StoredStream>(PAGE_ROWS, (last) =>
    database
      .select({
        workspaceId: workspace_id,
        streamId: id,
        // Never null in the rows that pass the condition.
        objectKey: sql<string>`${object_key}`,
        sizeBytes: liveStreams.stored_bytes,
        sha256: liveStreams.sha256,
      })
      .from(liveStreams)
      .where(
        and(
          isNotNull(object_key),
          workspaceId === undefined ? undefined : eq(workspace_id, workspaceId),
          isAfter(workspace_id, id, last && { workspaceId: last.workspaceId, key: last.streamId }),
        ),
      )
      .orderBy(asc(workspace_id), asc(id))
      .limit(PAGE_ROWS),
  );
}

/** The arrival times of the bytes of a transcript that was a stream; empty if it was none. */
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
