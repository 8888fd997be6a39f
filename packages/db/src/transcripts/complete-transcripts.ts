import type { TranscriptSummary } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { isInWorkspace, toHiddenWorkspace } from '../planner.ts';
import { selectActiveTimes } from '../sessions/active-time.ts';
import { list } from '../usage/ledger-definition.ts';
import { transcripts } from './schema.ts';
import { toJsonText } from './to-json-text.ts';
import { type RowSetKey, toTranscriptFigures } from './transcript-rows.ts';

export interface IngestCounts {
  contentBlocks: number;
  errors: number;
  warnings: number;
  /** Occurrences by issue code. */
  issuesByCode: Record<string, number>;
  /** Secrets taken out, by rule. Default: none. */
  secretsByRule?: Record<string, number>;
}

export interface CompletedTranscript {
  transcriptId: string;
  rowSet: RowSetKey;
  /** What the parse found out about the whole. */
  summary: TranscriptSummary;
  counts: IngestCounts;
  /** Of which this one was a success. */
  attemptCount: number;
}

/** Marks transcripts as ingested, whose rows are there. */
export async function completeTranscripts(
  transaction: Database,
  workspaceId: string,
  completed: readonly CompletedTranscript[],
  versions: { parser: string; prices: string },
): Promise<void> {
  const rows = completed.map((transcript) => toCompletedRow(transcript, versions));
  const columns = Object.keys(rows[0] ?? {}).filter((name) => name !== 'id' && name !== 'active_ms');
  if (columns.length === 0) return;
  const outOfOrderIds = rows.filter(({ active_ms }) => active_ms === null).map(({ row_set_id }) => row_set_id);
  const activeTimes =
    outOfOrderIds.length === 0
      ? sql`(SELECT NULL::text AS row_set_id, 0 AS active_ms)`
      : sql`(${selectActiveTimes(isInWorkspace('m', 'row_set_id', workspaceId, outOfOrderIds))})`;
  await transaction.execute(sql`
    UPDATE ${transcripts} AS t
    SET ${list(columns, (name) => `${name} = c.${name}`)}, active_ms = coalesce(c.active_ms, sorted.active_ms, 0),
      superseded_by = NULL, failure_reason = NULL, rows_deleted_at = NULL, ingested_at = now()
    FROM jsonb_populate_recordset(NULL::${transcripts}, ${toJsonText(rows)}::jsonb) AS c
    LEFT JOIN ${activeTimes} AS sorted ON sorted.row_set_id = c.row_set_id
    WHERE t.workspace_id = ${toHiddenWorkspace(workspaceId)} AND t.id = c.id`);
}

function toCompletedRow(
  { transcriptId, rowSet, summary, counts, attemptCount }: CompletedTranscript,
  versions: { parser: string; prices: string },
) {
  return {
    ...toTranscriptFigures(summary),
    active_ms: summary.activeMs,
    cost_estimate_usd: summary.exactCostUsd,
    id: transcriptId,
    row_set_id: rowSet.rowSetId,
    status: 'ingested',
    attempt_count: attemptCount,
    content_block_count: counts.contentBlocks,
    error_count: counts.errors,
    warning_count: counts.warnings,
    issue_counts: counts.issuesByCode,
    secret_counts: counts.secretsByRule ?? {},
    parser_version: versions.parser,
    price_version: versions.prices,
  } satisfies Partial<Omit<typeof transcripts.$inferInsert, 'active_ms' | 'cost_estimate_usd'>> & {
    active_ms: number | null;
    cost_estimate_usd: string | null;
  };
}
