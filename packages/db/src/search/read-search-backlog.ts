import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { searchIndexState } from './schema.ts';

/** Sessions that search does not find yet, or not all of. */
export interface SearchBacklog {
  waitingSessions: number;
  /** ISO 8601; null where none waits. */
  oldestWaitingSince: string | null;
  /** Of those that wait, the ones whose last attempt failed. */
  failingSessions: number;
}

/** Of a workspace, or of all. */
export async function readSearchBacklog(database: Database, workspaceId?: string): Promise<SearchBacklog> {
  const { rows } = await database.execute<{ waiting: number; oldest_ms: number | null; failing: number }>(sql`
    SELECT count(*)::int AS waiting, extract(epoch FROM min(waiting_since))::float8 * 1000 AS oldest_ms,
      count(*) FILTER (WHERE failure_count > 0)::int AS failing
    FROM ${searchIndexState}
    WHERE indexed_at IS NULL ${workspaceId === undefined ? sql`` : sql`AND workspace_id = ${workspaceId}`}`);
  const { waiting = 0, oldest_ms = null, failing = 0 } = rows[0] ?? {};
  return {
    waitingSessions: waiting,
    oldestWaitingSince: oldest_ms === null ? null : new Date(oldest_ms).toISOString(),
    failingSessions: failing,
  };
}
