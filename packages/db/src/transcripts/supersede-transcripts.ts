import type { Database } from '../database/database.ts';
import { and, eq, inArray, sql } from '../drizzle.cjs';
import { toHiddenWorkspace } from '../planner.ts';
import { deleteTranscriptRows } from './delete-transcript-rows.ts';
import type { TranscriptRow } from './schema.ts';
import { transcripts } from './schema.ts';
import { transcriptFigures } from './transcript-figures.ts';

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
  'row_set_id',
];

/**
 * Takes the rows of transcripts away whose bytes are the beginning of `supersededBy`, and their figures with them, so
 * that nothing is counted twice and the order of arrival leaves no trace. The raw objects stay.
 */
export async function supersedeTranscripts(
  transaction: Database,
  workspaceId: string,
  superseded: readonly Pick<TranscriptRow, 'id' | 'row_set_id'>[],
  supersededBy: string,
): Promise<void> {
  if (superseded.length === 0) return;
  const rowSetIds = superseded.flatMap(({ row_set_id }) => row_set_id ?? []);
  await deleteTranscriptRows(transaction, workspaceId, rowSetIds);
  await markSuperseded(transaction, workspaceId, superseded, supersededBy);
}

/** Takes their rows from transcripts without deleting them: `supersededBy`, which goes on with them, takes them over. */
export async function markSuperseded(
  transaction: Database,
  workspaceId: string,
  superseded: readonly Pick<TranscriptRow, 'id'>[],
  supersededBy: string,
): Promise<void> {
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
    .where(
      and(
        eq(transcripts.workspace_id, toHiddenWorkspace(workspaceId)),
        inArray(
          transcripts.id,
          superseded.map(({ id }) => id),
        ),
      ),
    );
}
