import { RUNNABLE_AGENTS, type TokenSums } from '@recount/core';
import type { Database } from '../database/database.ts';
import { and, desc, eq, getTableColumns, lt, ne, or, sql } from '../drizzle.cjs';
import { liveChunks, liveEvents, liveSessions, liveStreams } from '../schema/live.ts';
import { TOKEN_CLASSES } from '../schema/usage-columns.ts';
import type { LiveStreamKey, LiveStreamRow } from './live-streams.ts';

export interface LiveSessionKey {
  workspaceId: string;
  sessionId: string;
}

export type LiveSessionRow = typeof liveSessions.$inferSelect;

export const isLiveSession = ({ workspaceId, sessionId }: LiveSessionKey) =>
  and(eq(liveSessions.workspace_id, workspaceId), eq(liveSessions.session_id, sessionId));

type LiveTotals = Record<keyof TokenSums | 'stream_count' | 'running_count', number> & {
  cost_usd: number | null;
  /** The first one named. */
  model: string | null;
};

/** Agents whose streams state the tokens of the whole session. These are never added up. */
const CUMULATIVE_AGENTS = RUNNABLE_AGENTS.filter(({ program }) => program.countsWholeSession).map(({ id }) => id);

/** A session's live state and totals. The totals are of streams that have ended. Undefined if it never had a stream. */
export async function findLiveSession(
  database: Database,
  key: LiveSessionKey,
): Promise<(LiveSessionRow & LiveTotals) | undefined> {
  const { workspaceId, sessionId } = key;
  const [session] = await database.select().from(liveSessions).where(isLiveSession(key));
  if (session === undefined) return undefined;
  const counted = sql`is_counted AND state <> 'open'`;
  const cumulative = sql`agent = ANY(${sql.param(CUMULATIVE_AGENTS)}::text[])`;
  const tokens = sql.join(
    TOKEN_CLASSES.map((name) => {
      const column = sql.identifier(name);
      return sql`(coalesce(sum(${column}) FILTER (WHERE ${counted} AND NOT ${cumulative}), 0)
        + coalesce(max(${column}) FILTER (WHERE ${counted} AND ${cumulative}), 0))::float8 AS ${column}`;
    }),
    sql`, `,
  );
  const { rows } = await database.execute<LiveTotals>(sql`
    SELECT count(*) FILTER (WHERE ${counted})::int AS stream_count,
      count(*) FILTER (WHERE state = 'open')::int AS running_count,
      ${tokens},
      (sum(cost_usd) FILTER (WHERE ${counted}))::float8 AS cost_usd,
      (array_agg(model ORDER BY ended_at, id) FILTER (WHERE model IS NOT NULL AND state <> 'open'))[1] AS model
    FROM ${liveStreams} WHERE workspace_id = ${workspaceId} AND session_id = ${sessionId}`);
  const [totals] = rows;
  return totals && { ...session, ...totals };
}

const { arrivals: _arrivals, ...LISTED_COLUMNS } = getTableColumns(liveStreams);

export type ListedLiveStream = Omit<LiveStreamRow, 'arrivals'>;

interface LiveStreamFilter {
  /** Only open streams, or only others. */
  isOpen?: boolean | undefined;
  sessionId?: string | undefined;
}

/** A workspace's streams, newest first. */
export async function listLiveStreams(
  database: Database,
  workspaceId: string,
  { isOpen, sessionId }: LiveStreamFilter,
  limit: number,
): Promise<ListedLiveStream[]> {
  return await database
    .select(LISTED_COLUMNS)
    .from(liveStreams)
    .where(
      and(
        eq(liveStreams.workspace_id, workspaceId),
        isOpen === undefined ? undefined : (isOpen ? eq : ne)(liveStreams.state, 'open'),
        sessionId === undefined ? undefined : eq(liveStreams.session_id, sessionId),
      ),
    )
    .orderBy(desc(liveStreams.started_at), desc(liveStreams.id))
    .limit(limit);
}

/**
 * Lists the streams of all workspaces that are open and have been silent since `silentSince`, or ended before
 * `endedBefore` and are not closed yet.
 */
export async function listNeglectedStreams(
  database: Database,
  { silentSince, endedBefore }: { silentSince: string; endedBefore: string },
  limit: number,
): Promise<(LiveStreamKey & { state: LiveStreamRow['state'] })[]> {
  return await database
    .select({ workspaceId: liveStreams.workspace_id, streamId: liveStreams.id, state: liveStreams.state })
    .from(liveStreams)
    .where(
      and(
        // Written like the condition of the partial index.
        sql`state <> 'closed'`,
        or(
          and(eq(liveStreams.state, 'open'), lt(liveStreams.last_received_at, silentSince)),
          and(eq(liveStreams.state, 'closing'), lt(liveStreams.ended_at, endedBefore)),
        ),
      ),
    )
    .orderBy(liveStreams.last_received_at)
    .limit(limit);
}

/** The rest to delete of a session's streams. */
interface DeletedStreams {
  /** Keys of the raw objects of streams that are not transcripts. */
  objectKeys: string[];
  /** Streams being stored, under the transcript's key or else the stream's, which no row names yet. */
  closing: { id: string; transcriptId: string | null }[];
}

/**
 * Deletes everything about a session's streams. Returns what the caller must record for deletion; undefined if the
 * session never had a stream.
 */
export async function deleteLiveSession(
  transaction: Database,
  key: LiveSessionKey,
): Promise<DeletedStreams | undefined> {
  const { workspaceId, sessionId } = key;
  const deleted = await transaction
    .delete(liveStreams)
    .where(and(eq(liveStreams.workspace_id, workspaceId), eq(liveStreams.session_id, sessionId)))
    .returning({
      id: liveStreams.id,
      state: liveStreams.state,
      objectKey: liveStreams.object_key,
      transcriptId: liveStreams.transcript_id,
    });
  const ids = deleted.map(({ id }) => id);
  await transaction.execute(sql`
    DELETE FROM ${liveChunks} WHERE workspace_id = ${workspaceId} AND stream_id = ANY(${sql.param(ids)}::text[])`);
  await transaction
    .delete(liveEvents)
    .where(and(eq(liveEvents.workspace_id, workspaceId), eq(liveEvents.session_id, sessionId)));
  const sessions = await transaction
    .delete(liveSessions)
    .where(isLiveSession(key))
    .returning({ id: liveSessions.session_id });
  if (sessions.length === 0) return undefined;
  return {
    objectKeys: deleted.flatMap(({ objectKey }) => objectKey ?? []),
    closing: deleted.filter(({ state }) => state === 'closing'),
  };
}
