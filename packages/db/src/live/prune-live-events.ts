import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { liveEvents, liveStreams } from './schema.ts';

/** Streams pruned by one statement. */
const STREAMS_PER_STEP = 20;

/** Deletes the events of streams that ended before `endedBefore`; returns of how many streams. */
export async function pruneLiveEvents(database: Database, endedBefore: string): Promise<number> {
  const { rows } = await database.execute(sql`
    WITH ended AS (
      UPDATE ${liveStreams} AS s SET has_events = false
      WHERE (s.workspace_id, s.id) IN (
        SELECT workspace_id, id FROM ${liveStreams}
        WHERE has_events AND ended_at < ${endedBefore} ORDER BY ended_at LIMIT ${STREAMS_PER_STEP}
        FOR UPDATE SKIP LOCKED)
      RETURNING s.workspace_id, s.session_id, s.id
    ), deleted AS (
      DELETE FROM ${liveEvents} AS e USING ended
      WHERE e.workspace_id = ended.workspace_id AND e.session_id = ended.session_id AND e.stream_id = ended.id
    )
    SELECT id FROM ended`);
  return rows.length;
}
