import type { Database } from '../database/database.ts';
import { getTableColumns, type PgTable, type SQL, sql } from '../drizzle.cjs';
import { ROLLUPS, type RollupName } from '../schema/rollup-tables.ts';
import {
  hasDeletedMessages,
  ofSessions,
  type RollupScope,
  selectCalls,
  selectDayRollup,
  selectMessageCounts,
  selectUsageRollup,
} from './rollup-definitions.ts';
import { markStaleDays, toDay } from './stale-days.ts';

/**
 * Recomputes the sums of the affected sessions from the ledger and the tool calls, and the counts of messages of those
 * whose transcripts changed. Uses one statement for deletions and one for each table that gets rows. If a server
 * distributes its tables over nodes, data-changing parts of one statement may see each other's changes. The caller holds
 * the sessions' rows. `storedIds` names the sessions that may have roll-ups; default all.
 */
export async function writeRollups(
  transaction: Database,
  { workspaceId, sessionIds }: { workspaceId: string; sessionIds: readonly string[] },
  affectedIds: readonly string[],
  storedIds?: ReadonlySet<string>,
): Promise<void> {
  const affected = { sessionIds: affectedIds };
  const scopes: Record<RollupName, RollupScope> = {
    usage: affected,
    tool: affected,
    file: affected,
    message: { sessionIds },
  };
  const names = (Object.keys(scopes) as RollupName[]).filter((name) => scopes[name].sessionIds.length > 0);
  const deletions = names.flatMap((name) => {
    const storedOfScope = scopes[name].sessionIds.filter((id) => storedIds?.has(id) ?? true);
    return storedOfScope.length === 0 ? [] : deleteRollup(name, workspaceId, { sessionIds: storedOfScope });
  });
  // Days are read before rows are deleted, and insertions return theirs.
  const days = new Set<string>();
  if (deletions.length > 0) {
    const { rows } = await transaction.execute<{ day: string }>(selectDays(names, workspaceId, scopes));
    for (const { day } of rows) days.add(day);
    const queries = deletions.map((deletion, index) => sql`${sql.raw(`deleted_${index}`)} AS (${deletion})`);
    await transaction.execute(sql`WITH ${sql.join(queries, sql`, `)} SELECT`);
  }
  for (const insertion of names.flatMap((name) => insertRollup(name, workspaceId, scopes[name]))) {
    const { rows } = await transaction.execute<{ day?: string | null }>(insertion);
    for (const { day } of rows) if (typeof day === 'string') days.add(day);
  }
  await markStaleDays(transaction, workspaceId, [...days]);
}

/** A query of the UTC days where the scopes' sessions have rows that count in totals. */
function selectDays(
  names: readonly RollupName[],
  workspaceId: string,
  scopes: Readonly<Record<RollupName, RollupScope>>,
): SQL {
  const days = names.filter(hasTotals).map(
    (name) => sql`
    SELECT ${toDay('r.first_bucket_start')} AS day FROM ${ROLLUPS[name].days} AS r
    WHERE ${ofSessions('r', workspaceId, scopes[name])}`,
  );
  return sql`SELECT day::text AS day FROM (${sql.join(days, sql` UNION `)}) AS each WHERE day IS NOT NULL`;
}

/** Days of files are days of tools, which have totals. */
const hasTotals = (name: RollupName): boolean => ROLLUPS[name].totals !== undefined;

/**
 * Deletes the rows that `insertRollup` writes, each query from one table; keeps counts that have the roll-up as their
 * only record.
 */
function deleteRollup(name: RollupName, workspaceId: string, scope: RollupScope): SQL[] {
  const { buckets, days } = ROLLUPS[name];
  const deletedDays = sql`DELETE FROM ${days} AS r WHERE ${ofSessions('r', workspaceId, scope)}`;
  if (buckets === undefined) return [deletedDays];
  const replaced = name === 'message' ? sql`NOT ${hasDeletedMessages(workspaceId)}` : sql`true`;
  return [sql`DELETE FROM ${buckets} AS r WHERE ${ofSessions('r', workspaceId, scope)} AND ${replaced}`, deletedDays];
}

/** Statements to run in order. Sums of days are computed from 15-minute buckets. Some return days, as `day`. */
function insertRollup(name: RollupName, workspaceId: string, scope: RollupScope): SQL[] {
  const { buckets, days } = ROLLUPS[name];
  const insertDays = (rows: SQL): SQL => sql`${insert(days, selectDayRollup(name, rows))} ${returningDays(name)}`;
  if (name === 'tool' || name === 'file') return [insertDays(sql`(${selectCalls(name, workspaceId, scope)})`)];
  if (buckets === undefined) throw new Error(`${name} has no 15-minute roll-up`);
  const rows = name === 'usage' ? selectUsageRollup(workspaceId, scope) : selectMessageCounts(workspaceId, scope);
  const written = sql`(SELECT * FROM ${buckets} AS r WHERE ${ofSessions('r', workspaceId, scope)})`;
  return [insert(buckets, rows), insertDays(written)];
}

const returningDays = (name: RollupName): SQL =>
  hasTotals(name) ? sql`RETURNING ${toDay('r.first_bucket_start')}::text AS day` : sql``;

function insert(table: PgTable, rows: SQL): SQL {
  const columns = sql.raw(Object.keys(getTableColumns(table)).join(', '));
  return sql`INSERT INTO ${table} AS r (${columns}) SELECT ${columns} FROM (${rows}) AS rolled_up`;
}
