import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { searchWaiting } from '../schema/search.ts';
import { transcripts } from '../schema/transcripts.ts';

/** Number of content blocks of waiting row sets in all workspaces; not every block has a text. */
export async function countWaitingBlocks(database: Database): Promise<number> {
  const { rows } = await database.execute<{ count: number }>(sql`
    SELECT coalesce(sum(t.content_block_count), 0)::float8 AS count
    FROM ${searchWaiting} AS w
    JOIN ${transcripts} AS t ON t.workspace_id = w.workspace_id AND t.row_set_id = w.row_set_id`);
  return rows[0]?.count ?? 0;
}

/** Sessions that search does not find yet, or only in part. */
export interface SearchBacklog {
  waitingSessions: number;
  /** ISO 8601; null if none is waiting. */
  oldestWaitingSince: string | null;
  /** Sessions among them whose last attempt failed. */
  failingSessions: number;
}

/** Reads the backlog of a workspace, or of all. */
export async function readSearchBacklog(database: Database, workspaceId?: string): Promise<SearchBacklog> {
  const { rows } = await database.execute<{ waiting: number; oldest_ms: number | null; failing: number }>(sql`
    SELECT count(*)::int AS waiting, extract(epoch FROM min(waiting_since))::float8 * 1000 AS oldest_ms,
      count(*) FILTER (WHERE failure_count > 0)::int AS failing
    FROM (
      SELECT min(waiting_since) AS waiting_since, max(failure_count) AS failure_count FROM ${searchWaiting}
      ${workspaceId === undefined ? sql`` : sql`WHERE workspace_id = ${workspaceId}`}
      GROUP BY workspace_id, session_id
    ) AS session`);
  const { waiting = 0, oldest_ms = null, failing = 0 } = rows[0] ?? {};
  return {
    waitingSessions: waiting,
    oldestWaitingSince: oldest_ms === null ? null : new Date(oldest_ms).toISOString(),
    failingSessions: failing,
  };
}

/** True if a worker must still make the segments of a row set. */
export async function isWaitingForSearch(database: Database, workspaceId: string, rowSetId: string): Promise<boolean> {
  const { rows } = await database.execute(sql`
    SELECT FROM ${searchWaiting} WHERE workspace_id = ${workspaceId} AND row_set_id = ${rowSetId}`);
  return rows.length > 0;
}
