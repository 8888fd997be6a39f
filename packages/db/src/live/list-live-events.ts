import type { Database } from '../database/database.ts';
import { and, asc, eq, gt } from '../drizzle.cjs';
import type { LiveSessionKey } from './find-live-session.ts';
import { liveEvents } from './schema.ts';

/** `data` is JSON. */
export type LiveEventRow = Pick<typeof liveEvents.$inferSelect, 'id' | 'name' | 'data'>;

/** The events of a session after the one with id `afterId`, in their order. */
export async function listLiveEvents(
  database: Database,
  { workspaceId, sessionId }: LiveSessionKey,
  { afterId, limit }: { afterId: number; limit: number },
): Promise<LiveEventRow[]> {
  return await database
    .select({ id: liveEvents.id, name: liveEvents.name, data: liveEvents.data })
    .from(liveEvents)
    .where(
      and(eq(liveEvents.workspace_id, workspaceId), eq(liveEvents.session_id, sessionId), gt(liveEvents.id, afterId)),
    )
    .orderBy(asc(liveEvents.id))
    .limit(limit);
}
