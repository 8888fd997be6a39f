import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { isLiveSession, type LiveSessionKey, type LiveSessionRow } from './find-live-session.ts';
import { liveEvents, liveSessions } from './schema.ts';

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

/** The session's row, made where there is none, held until the end of the transaction. */
export async function lockLiveSession(transaction: Database, key: LiveSessionKey): Promise<LiveSessionRow> {
  await transaction
    .insert(liveSessions)
    .values({ workspace_id: key.workspaceId, session_id: key.sessionId })
    .onConflictDoNothing();
  const [session] = await transaction.select().from(liveSessions).where(isLiveSession(key)).for('update');
  if (session === undefined) throw new Error('The session was deleted meanwhile');
  return session;
}

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
  const session = await lockLiveSession(transaction, key);
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
