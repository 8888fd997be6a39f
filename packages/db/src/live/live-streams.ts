import type { Database } from '../database/database.ts';
import { and, desc, eq, gte, inArray, lt, lte, ne, sql } from '../drizzle.cjs';
import { liveChunks, liveSessions, liveStreams, SEVERAL_UPLOADERS } from '../schema/live.ts';
import type { TOKEN_CLASSES } from '../schema/usage-columns.ts';

export type LiveStreamRow = typeof liveStreams.$inferSelect;

export interface LiveStreamKey {
  workspaceId: string;
  streamId: string;
}

export const isLiveStream = ({ workspaceId, streamId }: LiveStreamKey) =>
  and(eq(liveStreams.workspace_id, workspaceId), eq(liveStreams.id, streamId));

/** The figures of a stream so far. */
export type LiveFigures = Pick<
  typeof liveStreams.$inferSelect,
  | 'line_count'
  | 'warning_count'
  | 'agent_session_id'
  | 'model'
  | (typeof TOKEN_CLASSES)[number]
  | 'cost_usd'
  | 'stop_reason'
>;

/** The appending writer, and the number of bytes that it knows of. */
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

export async function findLiveStream(database: Database, key: LiveStreamKey): Promise<LiveStreamRow | undefined> {
  const [row] = await database.select().from(liveStreams).where(isLiveStream(key));
  return row;
}

/** The stream that a transcript was; undefined if it was none. */
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

type NewLiveStream = Pick<
  typeof liveStreams.$inferInsert,
  | 'workspace_id'
  | 'id'
  | 'session_id'
  | 'agent'
  | 'source_format'
  | 'path'
  | 'writer_id'
  | 'uploader_key_id'
  | 'machine'
  | 'person'
>;

/** The number of concurrently open streams allowed. */
interface OpenStreamLimits {
  ofWorkspace: number;
  ofKey: number;
}

/**
 * Makes `writer_id` the writer that appends to the stream, which is created if it is new. Returns the current row,
 * which may be an ended one; or the limit that a new stream would exceed; undefined if another request made and ended
 * it in that time.
 */
export async function openLiveStream(
  transaction: Database,
  stream: NewLiveStream,
  limits: OpenStreamLimits,
): Promise<LiveStreamRow | keyof OpenStreamLimits | undefined> {
  const key = { workspaceId: stream.workspace_id, streamId: stream.id };
  const known = (await takeOverLiveStream(transaction, key, stream)) ?? (await findLiveStream(transaction, key));
  if (known !== undefined) return known;
  // One at a time, so that the limits are exact.
  await transaction.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`live/${stream.workspace_id}`}, 0))`);
  // Both conditions. The first matches a partial index.
  const { workspace_id, session_id, uploader_key_id } = stream;
  const { rows } = await transaction.execute<{ of_workspace: number; of_key: number }>(sql`
    SELECT count(*)::int AS of_workspace,
      count(*) FILTER (WHERE uploader_key_id = ${uploader_key_id})::int AS of_key
    FROM ${liveStreams}
    WHERE workspace_id = ${workspace_id} AND state <> 'closed' AND state = 'open'`);
  if ((rows[0]?.of_workspace ?? 0) >= limits.ofWorkspace) return 'ofWorkspace';
  if ((rows[0]?.of_key ?? 0) >= limits.ofKey) return 'ofKey';
  await transaction.insert(liveSessions).values({ workspace_id, session_id }).onConflictDoNothing();
  const [inserted] = await transaction.insert(liveStreams).values(stream).onConflictDoNothing().returning();
  // Another request was first, and waited for the same lock.
  return inserted ?? (await takeOverLiveStream(transaction, key, stream));
}

/**
 * Makes `writer_id` the writer that appends to an open stream, replacing another; undefined if it is not open. If
 * another key continues a stream, it no longer belongs to the first one alone.
 */
async function takeOverLiveStream(
  database: Database,
  key: LiveStreamKey,
  { session_id, writer_id, uploader_key_id }: Pick<NewLiveStream, 'session_id' | 'writer_id' | 'uploader_key_id'>,
): Promise<LiveStreamRow | undefined> {
  const isWanted = and(isLiveStream(key), eq(liveStreams.state, 'open'), eq(liveStreams.session_id, session_id));
  const [row] = await database
    .update(liveStreams)
    .set({
      writer_id,
      last_received_at: sql`now()`,
      uploader_key_id: sql`
        CASE WHEN ${liveStreams.uploader_key_id} <> ${uploader_key_id} THEN ${SEVERAL_UPLOADERS} ELSE ${liveStreams.uploader_key_id} END`,
    })
    .where(isWanted)
    .returning();
  return row;
}

/** The same for a stream that has been silent since `silentSince`. */
export async function takeOverSilentStream(
  database: Database,
  key: LiveStreamKey,
  { writerId, silentSince }: { writerId: string; silentSince: string },
): Promise<LiveStreamRow | undefined> {
  const [row] = await database
    .update(liveStreams)
    .set({ writer_id: writerId })
    .where(and(isLiveStream(key), eq(liveStreams.state, 'open'), lt(liveStreams.last_received_at, silentSince)))
    .returning();
  return row;
}

export type LiveEnding = LiveFigures &
  Pick<LiveStreamRow, 'ended_at' | 'success' | 'aborted' | 'is_counted' | 'error' | 'transcript_id' | 'arrivals'>;

/** Ends an open stream, which becomes `closing`; undefined if another request has taken it over or ended it. */
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

/** Removes streams from their session's totals. The caller must hold the session's row. */
export async function uncountLiveStreams(
  transaction: Database,
  workspaceId: string,
  streamIds: readonly string[],
): Promise<void> {
  if (streamIds.length === 0) return;
  await transaction
    .update(liveStreams)
    .set({ is_counted: false })
    .where(and(eq(liveStreams.workspace_id, workspaceId), inArray(liveStreams.id, [...streamIds])));
}

/** Closes a stream whose bytes are now in the raw store, and deletes them here. */
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

/** Lengths in bytes, inclusive. */
interface EndedStreamFilter {
  minBytes: number;
  maxBytes?: number;
  /** Only aborted streams. */
  aborted: boolean;
}

/** The other ended streams of the same session and agent, stored or not, that count in totals, longest first. */
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
