import { createHash } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { and, asc, eq, gt, sql } from '../drizzle.cjs';
import { isOneOf } from '../filters/attributed-to.ts';
import { liveEvents, liveSessions, liveStreams } from '../schema/live.ts';
import { transcriptMessages } from '../schema/messages.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { isLiveSession, type LiveSessionKey, type LiveSessionRow } from './live-sessions.ts';

export interface NewLiveEvent {
  name: string;
  /** A JSON object. */
  data: string;
}

/** Notified when events are committed; the payload is what `toLiveBell` makes of their session. */
export const LIVE_CHANNEL = 'recount_live';

/** Hashes, because every role of the database hears notifications, also one that sees another workspace only. */
const toBell = (...ids: string[]): string =>
  createHash('sha256').update(JSON.stringify(ids)).digest('base64url').slice(0, 22);

/** The beginning of the payloads about a workspace, before a slash. */
export const toWorkspaceBell = (workspaceId: string): string => toBell(workspaceId);

/** The payload about a session. */
export const toLiveBell = ({ workspaceId, sessionId }: LiveSessionKey): string =>
  `${toWorkspaceBell(workspaceId)}/${toBell(workspaceId, sessionId)}`;

/** The session's row, created if missing, locked until the end of the transaction. */
export async function lockLiveSession(transaction: Database, key: LiveSessionKey): Promise<LiveSessionRow> {
  await transaction
    .insert(liveSessions)
    .values({ workspace_id: key.workspaceId, session_id: key.sessionId })
    .onConflictDoNothing();
  const [session] = await transaction.select().from(liveSessions).where(isLiveSession(key)).for('update');
  if (session === undefined) throw new Error('The session was deleted while it was running');
  return session;
}

/**
 * Adds events of a stream to its session, and changes its checkpoints. Locks the session's row until the end of the
 * transaction. A reader that has read up to an event will never find an earlier one that was missing.
 */
export async function addLiveEvents(
  transaction: Database,
  key: LiveSessionKey,
  streamId: string,
  events: readonly NewLiveEvent[],
  toCheckpoints: (known: string[]) => string[],
): Promise<void> {
  const { workspaceId, sessionId } = key;
  const session = await lockLiveSession(transaction, key);
  const firstId = session.last_event_id + 1;
  await transaction
    .update(liveSessions)
    .set({ checkpoints: toCheckpoints(session.checkpoints), last_event_id: session.last_event_id + events.length })
    .where(isLiveSession(key));
  if (events.length === 0) return;
  const names = events.map(({ name }) => name);
  const data = events.map((event) => event.data);
  await transaction.execute(sql`
    INSERT INTO ${liveEvents} (workspace_id, session_id, id, stream_id, name, data)
    SELECT ${workspaceId}, ${sessionId}, ${firstId}::bigint + position - 1, ${streamId}, name, data
    FROM unnest(${sql.param(names)}::text[], ${sql.param(data)}::text[]) WITH ORDINALITY AS e(name, data, position)`);
  await transaction.execute(sql`SELECT pg_notify(${LIVE_CHANNEL}, ${toLiveBell(key)})`);
}

export type LiveEventRow = Pick<typeof liveEvents.$inferSelect, 'id' | 'stream_id' | 'name' | 'data'>;

/** The events of a session after the one with id `afterId`, in order; with `onlyNames`, only of streams that these people sent. */
export async function listLiveEvents(
  database: Database,
  { workspaceId, sessionId }: LiveSessionKey,
  { afterId, limit, onlyNames }: { afterId: number; limit: number; onlyNames?: readonly string[] | null },
): Promise<LiveEventRow[]> {
  const isOfNames =
    onlyNames &&
    sql`EXISTS (
      SELECT FROM ${liveStreams} AS o
      LEFT JOIN ${sessions} AS s ON s.workspace_id = o.workspace_id AND s.session_id = o.session_id
      WHERE o.workspace_id = ${workspaceId} AND o.id = ${liveEvents.stream_id}
        AND CASE WHEN o.person IS NULL THEN o.uploader_key_id = s.uploader_key_id
          ELSE ${isOneOf(sql`o.person`, onlyNames)} END)`;
  return await database
    .select({ id: liveEvents.id, stream_id: liveEvents.stream_id, name: liveEvents.name, data: liveEvents.data })
    .from(liveEvents)
    .where(
      and(
        eq(liveEvents.workspace_id, workspaceId),
        eq(liveEvents.session_id, sessionId),
        gt(liveEvents.id, afterId),
        isOfNames ?? undefined,
      ),
    )
    .orderBy(asc(liveEvents.id))
    .limit(limit);
}

/**
 * Points that a session can be rewound to, in order of time, oldest first (uuids of the messages of all its transcripts
 * where the user addressed the main agent; the newest `limit`, and those in `known` whatever their age). A repeated one
 * keeps its first place. A message without a time follows the one before it in its transcript; a transcript without any
 * has the time of its upload.
 */
export async function listCheckpoints(
  database: Database,
  { workspaceId, sessionId }: LiveSessionKey,
  { limit, known }: { limit: number; known: readonly string[] },
): Promise<string[]> {
  const { rows } = await database.execute<{ uuid: string }>(sql`
    WITH points AS (
      SELECT m.uuid, m.id, t.created_at, coalesce(
        m."timestamp",
        max(m."timestamp") OVER (PARTITION BY m.row_set_id ORDER BY m.id),
        t.first_timestamp,
        t.created_at
      ) AS sent_at
      FROM ${transcripts} AS t
      JOIN ${transcriptMessages} AS m ON m.workspace_id = t.workspace_id AND m.row_set_id = t.row_set_id
      WHERE t.workspace_id = ${workspaceId} AND t.session_id = ${sessionId}
        AND m.message_type = 'user' AND m.uuid IS NOT NULL AND m.has_text AND NOT m.is_sidechain
        AND NOT (m.metadata @> '{"isMeta": true}' OR m.metadata @> '{"isCompactSummary": true}')
    ), ranked AS (
      SELECT uuid, row_number() OVER (ORDER BY min(sent_at) DESC, min(created_at) DESC, min(id) DESC) AS rank
      FROM points
      GROUP BY uuid
    )
    SELECT uuid FROM ranked
    WHERE rank <= ${limit} OR uuid = ANY(${sql.param([...known])}::text[])
    ORDER BY rank DESC`);
  return rows.map(({ uuid }) => uuid);
}

/** Streams pruned by one statement. */
const STREAMS_PER_STEP = 20;

/**
 * Deletes the events of streams that ended before `endedBefore`. Events are deleted before the streams are marked, so
 * that a killed process starts over. Returns the number of streams, 0 once there are none left; if several processes do
 * this, each counts those that it handled.
 */
export async function pruneLiveEvents(database: Database, endedBefore: string): Promise<number> {
  const { rows } = await database.execute<{ workspace_id: string; session_id: string; id: string }>(sql`
    SELECT workspace_id, session_id, id FROM ${liveStreams}
    WHERE has_events AND ended_at < ${endedBefore} ORDER BY ended_at LIMIT ${STREAMS_PER_STEP}`);
  for (const { workspace_id, session_id, id } of rows) {
    await database.execute(sql`
      DELETE FROM ${liveEvents}
      WHERE workspace_id = ${workspace_id} AND session_id = ${session_id} AND stream_id = ${id}`);
    await database.execute(sql`
      UPDATE ${liveStreams} SET has_events = false WHERE workspace_id = ${workspace_id} AND id = ${id}`);
  }
  return rows.length;
}
