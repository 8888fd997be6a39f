import type { TranscriptSummary } from '@recount/core';
import type { Database } from '../database/database.ts';
import { isInWorkspace, opaqueWorkspaceId } from '../database/planner.ts';
import { and, eq, inArray, sql } from '../drizzle.cjs';
import { toJsonText } from '../schema/column-types.ts';
import { listColumns } from '../schema/list-columns.ts';
import { type TranscriptRow, type TranscriptStatus, transcripts } from '../schema/transcripts.ts';
import { selectActiveTimes } from './active-times.ts';
import { type IngestCounts, type RowSetKey, toTranscriptFigures } from './transcript-rows.ts';

/** Marks a transcript as being processed and counts the attempt; undefined if there is nothing (more) to do. */
export async function claimTranscript(
  database: Database,
  workspaceId: string,
  transcriptId: string,
): Promise<TranscriptRow | undefined> {
  const [claimed] = await database
    .update(transcripts)
    .set({ status: 'processing', attempt_count: sql`${transcripts.attempt_count} + 1` })
    .where(
      and(
        eq(transcripts.workspace_id, opaqueWorkspaceId(workspaceId)),
        eq(transcripts.id, transcriptId),
        inArray(transcripts.status, ['queued', 'processing']),
      ),
    )
    .returning();
  return claimed;
}

export interface CompletedTranscript {
  transcriptId: string;
  /** From the transcript's row. */
  sentRepository: string | null;
  rowSet: RowSetKey;
  /** The result of the parse for the whole transcript. */
  summary: TranscriptSummary;
  counts: IngestCounts;
  /** Attempts so far, including the last, successful one. */
  attemptCount: number;
}

/** Marks transcripts as ingested, whose rows exist. */
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
    SET ${listColumns(columns, (name) => `${name} = c.${name}`)}, active_ms = coalesce(c.active_ms, sorted.active_ms, 0),
      superseded_by = NULL, failure_reason = NULL, rows_deleted_at = NULL, ingested_at = now()
    FROM jsonb_populate_recordset(NULL::${transcripts}, ${toJsonText(rows)}::jsonb) AS c
    LEFT JOIN ${activeTimes} AS sorted ON sorted.row_set_id = c.row_set_id
    WHERE t.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND t.id = c.id`);
}

/** Not made from the bytes, or compared by `verifyUsage`. */
const OTHER_COLUMNS = ['id', 'row_set_id', 'status', 'attempt_count', 'active_ms', 'parser_version', 'price_version'];
const COST_FIGURES = ['cost_estimate_usd', 'unpriced_count'];

/**
 * True if a transcript's row equals the result of a new parse of its bytes. `areCostsCompared` means at the same rates.
 */
export async function hasEqualFigures(
  transaction: Database,
  workspaceId: string,
  completed: CompletedTranscript,
  { areCostsCompared }: { areCostsCompared: boolean },
): Promise<boolean> {
  const row = toCompletedRow(completed, { parser: '', prices: '' });
  const ignored = areCostsCompared ? OTHER_COLUMNS : [...OTHER_COLUMNS, ...COST_FIGURES];
  const columns = Object.keys(row).filter((name) => !ignored.includes(name));
  const { rows } = await transaction.execute<{ is_equal: boolean }>(sql`
    SELECT (${listColumns(columns, (name) => `t.${name}`)}) IS NOT DISTINCT FROM (${listColumns(columns, (name) => `c.${name}`)}) AS is_equal
    FROM jsonb_populate_recordset(NULL::${transcripts}, ${toJsonText([row])}::jsonb) AS c
    JOIN ${transcripts} AS t ON t.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND t.id = c.id`);
  return rows[0]?.is_equal === true;
}

function toCompletedRow(
  { transcriptId, sentRepository, rowSet, summary, counts, attemptCount }: CompletedTranscript,
  versions: { parser: string; prices: string },
) {
  return {
    ...toTranscriptFigures(summary, sentRepository),
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

/** The end of an attempt that has not ingested its transcript. */
export interface AttemptFailure {
  /** Undefined keeps an earlier one. */
  reason?: string;
  /** An attempt that does not count is withdrawn. */
  isCounted: boolean;
  /** The number of the attempt, so that a later one is left alone. Default: any. */
  attempt?: number;
}

/** Ends an attempt, and stores its reason for `giveUpTranscript`; returns false if another one has begun since then. */
export async function recordAttemptFailure(
  database: Database,
  workspaceId: string,
  transcriptId: string,
  { reason, isCounted, attempt }: AttemptFailure,
): Promise<boolean> {
  const { rowCount } = await database
    .update(transcripts)
    .set({
      status: 'queued',
      ...(reason !== undefined && { failure_reason: reason }),
      ...(!isCounted && { attempt_count: sql`${transcripts.attempt_count} - 1` }),
    })
    .where(
      and(
        eq(transcripts.workspace_id, opaqueWorkspaceId(workspaceId)),
        eq(transcripts.id, transcriptId),
        eq(transcripts.status, 'processing'),
        attempt === undefined ? undefined : eq(transcripts.attempt_count, attempt),
      ),
    );
  return rowCount !== 0;
}

/** Ends the attempts of a transcript. It is failed, or stays ingested if it had only been parsed again. */
export async function giveUpTranscript(
  database: Database,
  workspaceId: string,
  transcriptId: string,
  reasonIfUnknown: string,
): Promise<void> {
  await database
    .update(transcripts)
    .set({
      status: sql`CASE WHEN ${transcripts.ingested_at} IS NULL THEN 'failed' ELSE 'ingested' END`,
      failure_reason: sql`coalesce(${transcripts.failure_reason}, ${reasonIfUnknown})`,
    })
    .where(
      and(
        eq(transcripts.workspace_id, opaqueWorkspaceId(workspaceId)),
        eq(transcripts.id, transcriptId),
        inArray(transcripts.status, ['queued', 'processing']),
      ),
    );
}

interface StatusChange {
  status: TranscriptStatus;
  failure_reason?: string | null;
  attempt_count?: number;
}

/** Sets the status of transcripts, only of those in one of the statuses `from` if given; returns how many. */
export async function setTranscriptStatus(
  database: Database,
  workspaceId: string,
  transcriptIds: readonly string[],
  change: StatusChange,
  from?: readonly TranscriptStatus[],
): Promise<number> {
  if (transcriptIds.length === 0) return 0;
  const changed = await database
    .update(transcripts)
    .set(change)
    .where(
      and(
        eq(transcripts.workspace_id, opaqueWorkspaceId(workspaceId)),
        inArray(transcripts.id, [...transcriptIds]),
        from === undefined ? undefined : inArray(transcripts.status, [...from]),
      ),
    )
    .returning({ id: transcripts.id });
  return changed.length;
}
