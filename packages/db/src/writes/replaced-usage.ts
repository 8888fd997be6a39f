import type { Database } from '../database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { RowSetKey } from '../rows/transcript-rows.ts';
import { toolCalls, usageEntries } from '../schema/usage.ts';
import { isInWorkspace } from './in-workspace.ts';

/** What happens to the usage entries and tool calls of transcripts. */
export interface UsageChange {
  workspaceId: string;
  /** Sessions of all transcripts that the change is about. */
  sessionIds: readonly string[];
  written: readonly WrittenRows[];
  /** Row sets that lose all of theirs. */
  removedRowSetIds: readonly string[];
}

/** The rows of a transcript that was written. */
export interface WrittenRows {
  rowSetId: string;
  /** Entries and calls from these numbers on are the new ones. */
  firstNumbers: UsageNumbers;
  /** Old ones before these numbers stay, and are what they were. Undefined: all old ones are replaced. */
  keptNumbers?: UsageNumbers | undefined;
}

export interface UsageNumbers {
  entry: number;
  call: number;
}

/**
 * Numbers from which a row set's new entries and calls count. The old ones stay until the ledger has been settled,
 * as it must know which responses they held, and may be locked by others until then.
 */
export async function findNextUsageNumbers(
  transaction: Database,
  { workspaceId, rowSetId }: RowSetKey,
): Promise<UsageNumbers> {
  const { rows } = await transaction.execute<{ entry: number; call: number }>(sql`
    SELECT
      (SELECT coalesce(max(entry_number) + 1, 0) FROM ${usageEntries}
       WHERE workspace_id = ${workspaceId} AND row_set_id = ${rowSetId}) AS entry,
      (SELECT coalesce(max(call_number) + 1, 0) FROM ${toolCalls}
       WHERE workspace_id = ${workspaceId} AND row_set_id = ${rowSetId}) AS call`);
  return rows[0] ?? { entry: 0, call: 0 };
}

/** Condition on a row (`alias` of usage_entries or tool_calls): the change is about it. */
export function isInvolved(change: UsageChange, alias: string, kind: keyof UsageNumbers): SQL {
  const { workspaceId, written, removedRowSetIds } = change;
  const rowSetIds = [...written.map(({ rowSetId }) => rowSetId), ...removedRowSetIds];
  const isOfRowSet = isInWorkspace(alias, 'row_set_id', workspaceId, rowSetIds);
  const isKept = written.flatMap(({ rowSetId, keptNumbers }) =>
    keptNumbers === undefined ? [] : isNumbered(alias, kind, rowSetId, 0, keptNumbers[kind]),
  );
  return isKept.length === 0 ? isOfRowSet : sql`${isOfRowSet} AND NOT (${sql.join(isKept, sql` OR `)})`;
}

/** Condition under which a row (`alias` of usage_entries or tool_calls) is to be deleted once the ledger is settled. */
export function isReplaced({ written, removedRowSetIds }: UsageChange, alias: string, kind: keyof UsageNumbers): SQL {
  const conditions = written
    .filter(({ firstNumbers }) => firstNumbers[kind] > 0)
    .map(({ rowSetId, keptNumbers, firstNumbers }) =>
      isNumbered(alias, kind, rowSetId, keptNumbers?.[kind] ?? 0, firstNumbers[kind]),
    );
  if (removedRowSetIds.length > 0) {
    conditions.push(sql`${sql.raw(alias)}.row_set_id = ANY(${sql.param([...removedRowSetIds])}::text[])`);
  }
  return conditions.length === 0 ? sql`false` : sql`(${sql.join(conditions, sql` OR `)})`;
}

function isNumbered(alias: string, kind: keyof UsageNumbers, rowSetId: string, from: number, to: number): SQL {
  const number = sql.raw(`${alias}.${kind}_number`);
  return sql`(${sql.raw(alias)}.row_set_id = ${rowSetId} AND ${number} >= ${from}::int AND ${number} < ${to}::int)`;
}

/** Deletes what the change replaces: nothing for most transcripts, which come once. */
export async function deleteReplacedUsage(transaction: Database, change: UsageChange): Promise<void> {
  const isFirst = change.written.every(({ firstNumbers }) => firstNumbers.entry === 0 && firstNumbers.call === 0);
  if (isFirst && change.removedRowSetIds.length === 0) return;
  await transaction.execute(sql`
    DELETE FROM ${usageEntries} AS e WHERE ${isInvolved(change, 'e', 'entry')} AND ${isReplaced(change, 'e', 'entry')}`);
  await transaction.execute(sql`
    DELETE FROM ${toolCalls} AS c WHERE ${isInvolved(change, 'c', 'call')} AND ${isReplaced(change, 'c', 'call')}`);
}
