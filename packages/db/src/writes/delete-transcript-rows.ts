import type { Database } from '../database.ts';
import { and, eq, inArray } from '../drizzle.cjs';
import { contentBlocks, ingestIssues, transcriptMessages } from '../schema/messages.ts';

/** Deletes messages, blocks and issues of transcripts; the transcripts' own rows stay. */
export async function deleteTranscriptRows(
  transaction: Database,
  workspaceId: string,
  transcriptIds: readonly string[],
): Promise<void> {
  if (transcriptIds.length === 0) return;
  for (const table of [contentBlocks, transcriptMessages, ingestIssues]) {
    await transaction
      .delete(table)
      .where(and(eq(table.workspace_id, workspaceId), inArray(table.transcript_id, [...transcriptIds])));
  }
}
