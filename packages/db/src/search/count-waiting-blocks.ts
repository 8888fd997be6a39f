import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { transcripts } from '../transcripts/schema.ts';
import { searchIndexState } from './schema.ts';

/**
 * Content blocks of the sessions that wait to be indexed for search, in all workspaces: at least as many as there are
 * documents still to be made, as some are made already, and not every block has a text.
 */
export async function countWaitingBlocks(database: Database): Promise<number> {
  const { rows } = await database.execute<{ count: number }>(sql`
    SELECT coalesce(sum(t.content_block_count), 0)::float8 AS count
    FROM ${searchIndexState} AS s
    JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.row_set_id = s.row_set_id
    WHERE s.indexed_at IS NULL`);
  return rows[0]?.count ?? 0;
}
