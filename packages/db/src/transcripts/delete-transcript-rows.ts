import type { Database } from '../database/database.ts';
import { and, eq, inArray } from '../drizzle.cjs';
import { contentBlocks, ingestIssues, transcriptMessages } from '../messages/schema.ts';
import { sessionEvents } from '../usage/schema.ts';
import { transcriptCheckpoints } from './checkpoints-schema.ts';

/**
 * Deletes messages, blocks, events and issues of transcripts. The transcripts' own rows stay; so do usage entries and
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
}
