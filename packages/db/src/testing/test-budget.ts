import {
  type BudgetCrossingRow,
  type BudgetRow,
  createBudget,
  listBudgets,
  type NewBudget,
} from '../budgets/budgets.ts';
import type { DatabasePool } from '../database/database.ts';
import { sql } from '../drizzle.cjs';

/** A budget of $100 a month, with other fields as given. */
export const toTestBudget = (budget: Partial<NewBudget> & { name: string }): NewBudget => ({
  ...{ period: 'month', time_zone: 'UTC', unit: 'usd', amount: 100, filters: {}, thresholds: [50, 80, 100] },
  ...{ forecast_percent: null, anomaly_factor: null, destination_ids: null },
  ...budget,
});

/** Stores a budget that was created at a moment (ISO 8601). */
export async function createTestBudget(
  pool: DatabasePool,
  workspaceId: string,
  budget: Partial<NewBudget> & { name: string },
  createdAt: string,
): Promise<BudgetRow> {
  const row = await pool.withTransaction((transaction) =>
    createBudget(transaction, workspaceId, toTestBudget(budget), 'system'),
  );
  if (typeof row === 'string') throw new Error(row);
  await pool.database.execute(sql`
    UPDATE recount.budgets SET created_at = ${createdAt} WHERE workspace_id = ${workspaceId} AND id = ${row.id}`);
  const budgets = await listBudgets(pool.database, workspaceId);
  return budgets.find(({ id }) => id === row.id) as BudgetRow;
}

/** A warning in a word or two, as `2026-03-01 threshold 50 late`. */
export const toCrossingWord = ({ period_start, kind, threshold, is_late }: BudgetCrossingRow): string =>
  `${period_start} ${kind} ${threshold}${is_late ? ' late' : ''}`;
