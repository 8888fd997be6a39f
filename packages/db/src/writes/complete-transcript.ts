import type { TranscriptSummary } from '@recount/core';
import type { Database } from '../database.ts';
import { and, eq, sql } from '../drizzle.cjs';
import { type RowSetKey, toTranscriptFigures } from '../rows/transcript-rows.ts';
import { transcripts } from '../schema/transcripts.ts';
import { toActiveTime } from './active-time.ts';

export interface IngestCounts {
  contentBlocks: number;
  errors: number;
  warnings: number;
  /** Occurrences by issue code. */
  issuesByCode: Record<string, number>;
  /** Secrets taken out, by rule. Default: none. */
  secretsByRule?: Record<string, number>;
}

/** Marks a transcript as ingested and stores what the parse found out about the whole. */
export async function completeTranscript(
  transaction: Database,
  { workspaceId, transcriptId, rowSetId }: RowSetKey & { transcriptId: string },
  summary: TranscriptSummary,
  counts: IngestCounts,
  versions: { parser: string; prices: string },
): Promise<void> {
  await transaction
    .update(transcripts)
    .set({
      ...toTranscriptFigures(summary),
      active_ms: toActiveTime({ workspaceId, rowSetId }),
      row_set_id: rowSetId,
      status: 'ingested',
      superseded_by: null,
      failure_reason: null,
      content_block_count: counts.contentBlocks,
      error_count: counts.errors,
      warning_count: counts.warnings,
      issue_counts: counts.issuesByCode,
      secret_counts: counts.secretsByRule ?? {},
      rows_deleted_at: null,
      parser_version: versions.parser,
      price_version: versions.prices,
      ingested_at: sql`now()`,
    })
    .where(and(eq(transcripts.workspace_id, workspaceId), eq(transcripts.id, transcriptId)));
}
