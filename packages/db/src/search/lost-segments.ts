import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { contentBlocks } from '../schema/messages.ts';
import { searchPostings, searchSegmentRowSets, searchSegments, searchWaiting } from '../schema/search.ts';
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

/** Ids of a workspace's segments whose row is lost, and that left postings or row sets. It takes a damaged database. */
export async function listLostSegments(database: Database, workspaceId: string): Promise<string[]> {
  const { rows } = await database.execute<{ segment_id: string }>(sql`
    SELECT segment_id FROM (
      SELECT segment_id FROM ${searchPostings} WHERE workspace_id = ${workspaceId}
      UNION SELECT segment_id FROM ${searchSegmentRowSets} WHERE workspace_id = ${workspaceId}
    ) AS l
    WHERE NOT EXISTS (
      SELECT FROM ${searchSegments} AS s WHERE s.workspace_id = ${workspaceId} AND s.segment_id = l.segment_id)`);
  return rows.map(({ segment_id }) => segment_id);
}

/** Deletes what lost segments left, which no merge makes again; returns their number. */
export async function removeLostSegments(database: Database, workspaceId: string): Promise<number> {
  const lost = await listLostSegments(database, workspaceId);
  if (lost.length === 0) return 0;
  for (const table of [searchPostings, searchSegmentRowSets]) {
    await database.execute(sql`
      DELETE FROM ${table} WHERE workspace_id = ${workspaceId} AND segment_id = ANY(${sql.param(lost)}::text[])`);
  }
  return lost.length;
}
