import type { Database } from '../database/database.ts';
import { and, eq, lt, sql } from '../drizzle.cjs';
import { findLiveStream, isLiveStream, type LiveStreamKey, type LiveStreamRow } from './find-live-stream.ts';
import { liveSessions, liveStreams, SEVERAL_UPLOADERS } from './schema.ts';

export type NewLiveStream = Pick<
  typeof liveStreams.$inferInsert,
  'workspace_id' | 'id' | 'session_id' | 'agent' | 'source_format' | 'path' | 'writer_id' | 'uploader_key_id'
>;

/**
 * Makes `writer_id` the one that appends to the stream, which is inserted where it is new. Returns the row as it is now,
 * which may be one that has ended; undefined where it is new and the workspace has `maxOpenStreams` open already.
 */
export async function openLiveStream(
  transaction: Database,
  stream: NewLiveStream,
  maxOpenStreams: number,
): Promise<LiveStreamRow | undefined> {
  const key = { workspaceId: stream.workspace_id, streamId: stream.id };
  const known = (await takeOverLiveStream(transaction, key, stream)) ?? (await findLiveStream(transaction, key));
  if (known !== undefined) return known;
  // One at a time: the number of open ones is a limit, not a guess.
  await transaction.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`live/${stream.workspace_id}`}, 0))`);
  // Both conditions: the first is that of a partial index.
  const { rows } = await transaction.execute<{ count: number }>(sql`
    SELECT count(*)::int AS count FROM ${liveStreams}
    WHERE workspace_id = ${stream.workspace_id} AND state <> 'closed' AND state = 'open'`);
  if ((rows[0]?.count ?? 0) >= maxOpenStreams) return undefined;
  const { workspace_id, session_id } = stream;
  await transaction.insert(liveSessions).values({ workspace_id, session_id }).onConflictDoNothing();
  const [inserted] = await transaction.insert(liveStreams).values(stream).onConflictDoNothing().returning();
  // Another request was first, and waited for the same lock.
  return inserted ?? (await takeOverLiveStream(transaction, key, stream));
}

/**
 * Makes `writer_id` the one that appends to an open stream, in place of another; undefined where it is not open. A stream that
 * another key goes on with is no longer the first one's alone.
 */
export async function takeOverLiveStream(
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

/** The same for one that was last heard of before `silentSince`. */
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
