import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { toolCalls, usageEntries } from '../schema/usage.ts';
import type { RowSet, RowSetKey, UsageNumbers } from './transcript-rows.ts';

/** A change to the usage entries and tool calls of transcripts. */
export interface UsageChange {
  workspaceId: string;
  /** Sessions of the transcripts whose rows change. */
  sessionIds: readonly string[];
  /** Other sessions, where only the rows of transcripts themselves change; default none. */
  rowlessIds?: readonly string[];
  written: readonly RowSet[];
  /** Row sets that lose all their entries and calls. */
  removedRowSetIds: readonly string[];
  /** Responses that are listed at a time; default 20,000. */
  keysPerStep?: number;
}

/**
 * The first numbers of a row set's new entries and calls. The old ones remain until the ledger has been settled, which
 * must know their responses, and they may be locked by others until then.
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

/** Condition on a row (`alias` of usage_entries or tool_calls) that the change concerns. */
export function isInvolved(change: UsageChange, alias: string, kind: keyof UsageNumbers): SQL {
  const { workspaceId, written, removedRowSetIds } = change;
  const whole = written.filter(({ prefix }) => prefix === undefined);
  const wholeIds = [...whole.map(({ rowSetId }) => rowSetId), ...removedRowSetIds];
  const rowSet = sql.raw(`${alias}.row_set_id`);
  const conditions = written.flatMap(({ rowSetId, prefix }) =>
    prefix === undefined ? [] : isNumberedFrom(alias, kind, rowSetId, prefix.numbers[kind]),
  );
  if (wholeIds.length > 0) conditions.push(sql`${rowSet} = ANY(${sql.param(wholeIds)}::text[])`);
  const isOfAny = conditions.length === 0 ? sql`false` : sql.join(conditions, sql` OR `);
  return sql`(${sql.raw(alias)}.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND (${isOfAny}))`;
}

function isNumberedFrom(alias: string, kind: keyof UsageNumbers, rowSetId: string, from: number): SQL {
  const number = sql.raw(`${alias}.${kind}_number`);
  return sql`(${sql.raw(alias)}.row_set_id = ${rowSetId} AND ${number} >= ${from}::int)`;
}

/** Condition under which a row (`alias` of usage_entries or tool_calls) is deleted once the ledger is settled. */
export function isReplaced(
  { written, removedRowSetIds }: Pick<UsageChange, 'written' | 'removedRowSetIds'>,
  alias: string,
  kind: keyof UsageNumbers,
): SQL {
  const conditions = written
    .filter(({ firstNewNumbers }) => firstNewNumbers[kind] > 0)
    .map(({ rowSetId, prefix, firstNewNumbers }) =>
      isNumbered(alias, kind, rowSetId, prefix?.numbers[kind] ?? 0, firstNewNumbers[kind]),
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

/** Deletes the rows that the change replaces (none for most transcripts, which are ingested once). */
export async function deleteReplacedUsage(transaction: Database, change: UsageChange): Promise<void> {
  const isFirst = change.written.every(
    ({ firstNewNumbers }) => firstNewNumbers.entry === 0 && firstNewNumbers.call === 0,
  );
  if (isFirst && change.removedRowSetIds.length === 0) return;
  await transaction.execute(sql`
    DELETE FROM ${usageEntries} AS e WHERE ${isInvolved(change, 'e', 'entry')} AND ${isReplaced(change, 'e', 'entry')}`);
  await transaction.execute(sql`
    DELETE FROM ${toolCalls} AS c WHERE ${isInvolved(change, 'c', 'call')} AND ${isReplaced(change, 'c', 'call')}`);
}
