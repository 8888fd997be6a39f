import type { Database } from '../database.ts';
import { and, eq, inArray, sql } from '../drizzle.cjs';
import { transcriptFigures } from '../schema/transcript-figures.ts';
import { transcripts } from '../schema/transcripts.ts';
import { deleteTranscriptRows } from './delete-transcript-rows.ts';

/** Columns that tell of rows which a superseded transcript does not have. */
const CLEARED_COLUMNS = [
  ...Object.keys(transcriptFigures()),
  'line_count',
  'content_block_count',
  'error_count',
  'warning_count',
  'issue_counts',
  'secret_counts',
  'rows_deleted_at',
  'parser_version',
  'price_version',
];

/**
 * Takes the rows of transcripts away whose bytes are the beginning of `supersededBy`, and their figures with them, so
 * that nothing is counted twice and the order of arrival leaves no trace. The raw objects stay.
 */
export async function supersedeTranscripts(
  transaction: Database,
  workspaceId: string,
  transcriptIds: readonly string[],
  supersededBy: string,
): Promise<void> {
  if (transcriptIds.length === 0) return;
  await deleteTranscriptRows(transaction, workspaceId, transcriptIds);
  await transaction
    .update(transcripts)
    .set({
      ...Object.fromEntries(CLEARED_COLUMNS.map((column) => [column, sql`DEFAULT`])),
      status: 'superseded',
      superseded_by: supersededBy,
      is_diverged: false,
      failure_reason: null,
      ingested_at: null,
    })
    .where(and(eq(transcripts.workspace_id, workspaceId), inArray(transcripts.id, [...transcriptIds])));
}
