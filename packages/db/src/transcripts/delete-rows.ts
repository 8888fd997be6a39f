import type { Database } from '../database/database.ts';
import { and, eq, inArray } from '../drizzle.cjs';
import { contentBlocks, ingestIssues, transcriptMessages } from '../schema/messages.ts';
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
}
