import type { Database } from '../database.ts';
import { getTableColumns, type PgTable, type SQL, sql } from '../drizzle.cjs';
import { ROLLUPS, type RollupName } from '../schema/rollups.ts';
import { usageLedger } from '../schema/usage.ts';
import { ALL_ENTRIES, selectLedgerRows } from '../writes/ledger-definition.ts';
import {
  selectDayRollup,
  selectFileCalls,
  selectMessageRollup,
  selectToolRollup,
  selectUsageRollup,
} from '../writes/write-rollups.ts';

/** How the rows of a derived table compare with a full recount. */
export interface DerivedTableCheck {
  table: 'usage_ledger' | `${RollupName}_rollup` | `${RollupName}_day_rollup`;
  rows: number;
  /** Rows that the recount gives and the table lacks. */
  missing: number;
  /** Rows that the table has and the recount does not give. */
  surplus: number;
}

/**
 * Counts everything that is derived from a workspace's usage entries, tool calls and messages anew, and compares every
 * row. To be called with one snapshot (`withSnapshot`), or writers between two of its queries would look like faults.
 */
export async function verifyUsage(snapshot: Database, workspaceId: string): Promise<DerivedTableCheck[]> {
  const ledger = selectLedgerRows(ALL_ENTRIES, sql`e.workspace_id = ${workspaceId}`);
  const checks = [await check(snapshot, 'usage_ledger', usageLedger, ledger, workspaceId)];
  const rollups = {
    usage: selectUsageRollup(workspaceId),
    tool: selectToolRollup(workspaceId),
    message: selectMessageRollup(workspaceId),
    file: selectFileCalls(workspaceId),
  };
  for (const name of ['usage', 'tool', 'message', 'file'] as const) {
    const { quarters, days } = ROLLUPS[name];
    const recountedDays = selectDayRollup(name, sql`(${rollups[name]})`);
    if (quarters !== undefined)
      checks.push(await check(snapshot, `${name}_rollup`, quarters, rollups[name], workspaceId));
    checks.push(await check(snapshot, `${name}_day_rollup`, days, recountedDays, workspaceId));
  }
  return checks;
}

async function check(
  snapshot: Database,
  table: DerivedTableCheck['table'],
  stored: PgTable,
  recounted: SQL,
  workspaceId: string,
): Promise<DerivedTableCheck> {
  const columns = sql.raw(
    Object.keys(getTableColumns(stored))
      .map((name) => `"${name}"`)
      .join(', '),
  );
  const { rows } = await snapshot.execute<Record<'rows' | 'missing' | 'surplus', number>>(sql`
    WITH stored AS (SELECT ${columns} FROM ${stored} WHERE workspace_id = ${workspaceId}),
      recounted AS (SELECT ${columns} FROM (${recounted}) AS every)
    SELECT
      (SELECT count(*)::int FROM stored) AS rows,
      (SELECT count(*)::int FROM (SELECT * FROM recounted EXCEPT ALL SELECT * FROM stored) AS m) AS missing,
      (SELECT count(*)::int FROM (SELECT * FROM stored EXCEPT ALL SELECT * FROM recounted) AS s) AS surplus`);
  return { table, rows: 0, missing: 0, surplus: 0, ...rows[0] };
}
