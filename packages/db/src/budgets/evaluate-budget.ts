import type { DatabasePool } from '../database/database.ts';
import { withReportSnapshot } from '../reports/with-report-snapshot.ts';
import { type BudgetCrossingRow, type BudgetRow, listNewCrossings, recordCrossings } from './budgets.ts';
import { readCrossings } from './read-spending.ts';

/**
 * Compares a budget with what is stored now, and records what it has not warned of yet, which it returns. Any number of
 * processes may do so at the same time, and each warning is recorded once. Throws UnresolvedNameError and ReportTimeoutError.
 */
export async function evaluateBudget(
  pool: Pick<DatabasePool, 'withSnapshot' | 'withTransaction'>,
  budget: BudgetRow,
  nowMs: number,
): Promise<BudgetCrossingRow[]> {
  const found = await withReportSnapshot(pool, async (snapshot) =>
    listNewCrossings(snapshot, budget, await readCrossings(snapshot, budget, nowMs)),
  );
  if (found.length === 0) return [];
  const crossedAt = new Date(nowMs).toISOString();
  return await pool.withTransaction((transaction) => recordCrossings(transaction, budget, found, crossedAt));
}
