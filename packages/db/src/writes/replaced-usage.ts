import type { Database } from '../database.ts';
import { sql } from '../drizzle.cjs';
import { toolCalls, usageEntries } from '../schema/usage.ts';

/** What happens to the usage entries and tool calls of a session's transcripts. */
export interface UsageChange {
  workspaceId: string;
  sessionId: string;
  /** Transcript that was written; its entries and calls from these numbers on are the new ones. */
  written?: { transcriptId: string; firstNumbers: UsageNumbers } | undefined;
  /** Transcripts that lose all of theirs. */
  removedTranscriptIds: readonly string[];
}

export interface UsageNumbers {
  entry: number;
  call: number;
}

/**
 * Numbers from which a transcript's new entries and calls count. The old ones stay until the ledger has been settled,
 * as it must know which responses they held, and may be locked by others until then.
 */
export async function findNextUsageNumbers(
  transaction: Database,
  workspaceId: string,
  transcriptId: string,
): Promise<UsageNumbers> {
  const { rows } = await transaction.execute<{ entry: number; call: number }>(sql`
    SELECT
      (SELECT coalesce(max(entry_number) + 1, 0) FROM ${usageEntries}
       WHERE workspace_id = ${workspaceId} AND transcript_id = ${transcriptId}) AS entry,
      (SELECT coalesce(max(call_number) + 1, 0) FROM ${toolCalls}
       WHERE workspace_id = ${workspaceId} AND transcript_id = ${transcriptId}) AS call`);
  return rows[0] ?? { entry: 0, call: 0 };
}

/** Condition under which a row (`alias` of usage_entries or tool_calls) is to be deleted once the ledger is settled. */
export function isReplaced(change: UsageChange, alias: string, kind: keyof UsageNumbers) {
  const transcriptId = sql.raw(`${alias}.transcript_id`);
  const isRemoved = sql`${transcriptId} = ANY(${sql.param([...change.removedTranscriptIds])}::text[])`;
  if (change.written === undefined) return sql`(${isRemoved})`;
  const { transcriptId: writtenId, firstNumbers } = change.written;
  const number = sql.raw(`${alias}.${kind}_number`);
  return sql`(${isRemoved} OR (${transcriptId} = ${writtenId} AND ${number} < ${firstNumbers[kind]}::int))`;
}

/** Transcripts whose rows the change is about. */
export function toInvolvedTranscriptIds({ written, removedTranscriptIds }: UsageChange): string[] {
  return [...(written === undefined ? [] : [written.transcriptId]), ...removedTranscriptIds];
}

/** Deletes what the change replaces: nothing for most transcripts, which come once. */
export async function deleteReplacedUsage(transaction: Database, change: UsageChange): Promise<void> {
  const { written, removedTranscriptIds } = change;
  const isFirst = written === undefined || (written.firstNumbers.entry === 0 && written.firstNumbers.call === 0);
  if (isFirst && removedTranscriptIds.length === 0) return;
  const involved = sql.param(toInvolvedTranscriptIds(change));
  await transaction.execute(sql`
    DELETE FROM ${usageEntries} AS e
    WHERE e.workspace_id = ${change.workspaceId} AND e.transcript_id = ANY(${involved}::text[])
      AND ${isReplaced(change, 'e', 'entry')}`);
  await transaction.execute(sql`
    DELETE FROM ${toolCalls} AS c
    WHERE c.workspace_id = ${change.workspaceId} AND c.transcript_id = ANY(${involved}::text[])
      AND ${isReplaced(change, 'c', 'call')}`);
}
