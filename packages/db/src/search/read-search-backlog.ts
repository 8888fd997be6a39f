import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { searchIndexState } from '../schema/search.ts';
import { transcripts } from '../schema/transcripts.ts';

/**
 * Number of content blocks of pending sessions in all workspaces, which is an upper bound of the documents still to be
 * made, as some exist already, and not every block has a text.
 */
export async function countWaitingBlocks(database: Database): Promise<number> {
  const { rows } = await database.execute<{ count: number }>(sql`
    SELECT coalesce(sum(t.content_block_count), 0)::float8 AS count
    FROM ${searchIndexState} AS s
    JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.row_set_id = s.row_set_id
    WHERE s.indexed_at IS NULL`);
  return rows[0]?.count ?? 0;
}

/** Sessions that search does not find yet, or only in part. */
export interface SearchBacklog {
  waitingSessions: number;
  /** ISO 8601; null if none is pending. */
  oldestWaitingSince: string | null;
  /** Sessions among them whose last attempt failed. */
  failingSessions: number;
}

/** Reads the backlog of a workspace, or of all. */
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

/** True if a session must still be indexed, wholly or in part. */
export async function isWaitingForSearch(database: Database, workspaceId: string, sessionId: string): Promise<boolean> {
  const { rows } = await database.execute(sql`
    SELECT FROM ${searchIndexState}
    WHERE workspace_id = ${workspaceId} AND session_id = ${sessionId} AND indexed_at IS NULL`);
  return rows.length > 0;
}
