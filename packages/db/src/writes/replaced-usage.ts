import type { Database } from '../database.ts';
import { sql } from '../drizzle.cjs';
import { toolCalls, usageEntries } from '../schema/usage.ts';

/** What happens to the usage entries and tool calls of transcripts. */
export interface UsageChange {
  workspaceId: string;
  /** Sessions of all transcripts that the change is about. */
  sessionIds: readonly string[];
  written: readonly WrittenTranscript[];
  /** Transcripts that lose all of theirs. */
  removedTranscriptIds: readonly string[];
}

/** A transcript whose entries and calls from these numbers on are the new ones. */
export interface WrittenTranscript {
  transcriptId: string;
  firstNumbers: UsageNumbers;
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
export function isReplaced({ written, removedTranscriptIds }: UsageChange, alias: string, kind: keyof UsageNumbers) {
  const [transcriptId, number] = [sql.raw(`${alias}.transcript_id`), sql.raw(`${alias}.${kind}_number`)];
  const conditions = written
    .filter(({ firstNumbers }) => firstNumbers[kind] > 0)
    .map((one) => sql`(${transcriptId} = ${one.transcriptId} AND ${number} < ${one.firstNumbers[kind]}::int)`);
  if (removedTranscriptIds.length > 0) {
    conditions.push(sql`${transcriptId} = ANY(${sql.param([...removedTranscriptIds])}::text[])`);
  }
  return conditions.length === 0 ? sql`false` : sql`(${sql.join(conditions, sql` OR `)})`;
}

/** Transcripts whose rows the change is about. */
export function toInvolvedTranscriptIds({ written, removedTranscriptIds }: UsageChange): string[] {
  return [...written.map(({ transcriptId }) => transcriptId), ...removedTranscriptIds];
}

/** Deletes what the change replaces: nothing for most transcripts, which come once. */
export async function deleteReplacedUsage(transaction: Database, change: UsageChange): Promise<void> {
  const { written, removedTranscriptIds } = change;
  const isFirst = written.every(({ firstNumbers }) => firstNumbers.entry === 0 && firstNumbers.call === 0);
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
