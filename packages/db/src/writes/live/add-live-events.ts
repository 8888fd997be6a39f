import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import { isLiveSession, type LiveSessionKey, type LiveSessionRow } from '../../queries/live/find-live-session.ts';
import { liveEvents, liveSessions } from '../../schema/live.ts';

export interface NewLiveEvent {
  name: string;
  /** JSON. */
  data: string;
}

/** What changes of a session together with its events. */
export type LiveSessionChange = Partial<Omit<LiveSessionRow, 'workspace_id' | 'session_id' | 'last_event_id'>>;

/** Rung at the commit of events; the payload is what `toLiveBell` makes of their session. */
export const LIVE_CHANNEL = 'recount_live';

export const toLiveBell = ({ workspaceId, sessionId }: LiveSessionKey): string => `${workspaceId}/${sessionId}`;

/**
 * Adds events of a stream to its session, and what `toChange` makes of the session's row. Holds the row until the end of
 * the transaction: whoever reads up to an event will never find one before it that was not there.
 */
export async function addLiveEvents(
  transaction: Database,
  key: LiveSessionKey,
  streamId: string,
  events: readonly NewLiveEvent[],
  toChange: (session: LiveSessionRow) => LiveSessionChange = () => ({}),
): Promise<void> {
  const { workspaceId, sessionId } = key;
  await transaction
    .insert(liveSessions)
    .values({ workspace_id: workspaceId, session_id: sessionId })
    .onConflictDoNothing();
  const [session] = await transaction.select().from(liveSessions).where(isLiveSession(key)).for('update');
  if (session === undefined) throw new Error('The session was deleted meanwhile');
  const firstId = session.last_event_id + 1;
  await transaction
    .update(liveSessions)
    .set({ ...toChange(session), last_event_id: session.last_event_id + events.length })
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
