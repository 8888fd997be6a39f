import type { Database } from '../database/database.ts';
import { and, eq, inArray, sql } from '../drizzle.cjs';
import { contentBlocks, ingestIssues, transcriptMessages } from '../schema/messages.ts';
import { searchSegmentRowSets, searchWaiting } from '../schema/search.ts';
import { transcriptCheckpoints } from '../schema/transcripts.ts';
import { sessionEvents } from '../schema/usage.ts';

/**
 * Deletes messages, blocks, events and issues of transcripts. The transcripts' own rows remain, as do usage entries and
 * tool calls, which `settleSessions` deletes.
 */
export async function deleteTranscriptRows(
  transaction: Database,
  workspaceId: string,
  rowSetIds: readonly string[],
): Promise<void> {
  if (rowSetIds.length === 0) return;
  for (const table of [contentBlocks, transcriptMessages, sessionEvents, ingestIssues, transcriptCheckpoints]) {
    await transaction
      .delete(table)
      .where(and(eq(table.workspace_id, workspaceId), inArray(table.row_set_id, [...rowSetIds])));
  }
  await removeFromSearch(transaction, workspaceId, rowSetIds);
}

/** Marks the texts of row sets as removed, and makes no segments of those that wait. */
export async function removeFromSearch(
  transaction: Database,
  workspaceId: string,
  rowSetIds: readonly string[],
): Promise<void> {
  // First, because a worker that makes segments of a row set has locked this row.
  await transaction
    .delete(searchWaiting)
    .where(and(eq(searchWaiting.workspace_id, workspaceId), inArray(searchWaiting.row_set_id, [...rowSetIds])));
  await markRemovedFromSearch(transaction, workspaceId, rowSetIds);
}

/** The segments are made again without the texts later; until then queries leave them out. */
export async function markRemovedFromSearch(
  transaction: Database,
  workspaceId: string,
  rowSetIds: readonly string[],
): Promise<void> {
  const isPresent = sql`
    workspace_id = ${workspaceId} AND row_set_id = ANY(${sql.param([...rowSetIds])}::text[]) AND removed_at IS NULL`;
  for (;;) {
    await transaction.execute(sql`UPDATE ${searchSegmentRowSets} SET removed_at = now() WHERE ${isPresent}`);
    // If segments were merged in that time, the statement waited for their rows, and did not see the rows of the new one.
    const { rows } = await transaction.execute(sql`SELECT FROM ${searchSegmentRowSets} WHERE ${isPresent} LIMIT 1`);
    if (rows.length === 0) return;
  }
}
