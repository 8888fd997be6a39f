import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { contentBlocks } from '../schema/messages.ts';
import { searchSegmentRowSets, searchSegments, searchWaiting } from '../schema/search.ts';
import { transcripts } from '../schema/transcripts.ts';

/** A row set with texts that search does not find. */
export interface LostRowSet {
  workspaceId: string;
  rowSetId: string;
}

/**
 * Lists row sets of a workspace, or of all, that have texts, wait for no segment, and are in none, or in one that does
 * not exist. It takes a restored or damaged database to have any.
 */
export async function listLostRowSets(database: Database, workspaceId?: string): Promise<LostRowSet[]> {
  const { rows } = await database.execute<{ workspace_id: string; row_set_id: string }>(sql`
    SELECT t.workspace_id, t.row_set_id FROM ${transcripts} AS t
    WHERE ${workspaceId === undefined ? sql`true` : sql`t.workspace_id = ${workspaceId}`}
      AND t.row_set_id IS NOT NULL AND t.rows_deleted_at IS NULL AND t.content_block_count > 0
      AND NOT EXISTS (
        SELECT FROM ${searchWaiting} AS w WHERE w.workspace_id = t.workspace_id AND w.row_set_id = t.row_set_id)
      AND NOT EXISTS (
        SELECT FROM ${searchSegmentRowSets} AS r
        JOIN ${searchSegments} AS s ON s.workspace_id = r.workspace_id AND s.segment_id = r.segment_id
        WHERE r.workspace_id = t.workspace_id AND r.row_set_id = t.row_set_id AND r.removed_at IS NULL)
      AND EXISTS (
        SELECT FROM ${contentBlocks} AS b
        WHERE b.workspace_id = t.workspace_id AND b.row_set_id = t.row_set_id AND CASE
          WHEN b.block_type = 'thinking' THEN b.thinking_text
          WHEN b.block_type LIKE '%tool\\_use' THEN b.tool_name
          WHEN b.block_type LIKE '%tool\\_result' THEN b.result_text
          ELSE b.content_text END ~ '[[:alnum:]]')`);
  return rows.map(({ workspace_id, row_set_id }) => ({ workspaceId: workspace_id, rowSetId: row_set_id }));
}
