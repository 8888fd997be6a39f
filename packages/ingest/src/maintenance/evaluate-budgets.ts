import { type BudgetCrossingRow, evaluateBudget, listBudgets, listWorkspaces } from '@recount/db';
import { type LoopDeps, type LoopOptions, runLoop } from '../run-loop.ts';

const DEFAULT_INTERVAL_MS = 60_000;
const PAUSE_FACTOR = 20;

interface BudgetReport {
  workspaceId: string;
  budgetId: string;
  crossings: readonly BudgetCrossingRow[];
}

interface Deps extends LoopDeps {
  /** Called for every budget that warned of something. */
  onReport: (report: BudgetReport) => void;
  /** Milliseconds since 1970. Default Date.now. */
  now?: () => number;
}

/** Evaluates the budgets of all workspaces, immediately and then every minute, in one process at a time. */
export async function runBudgets(deps: Deps, { signal, intervalMs = DEFAULT_INTERVAL_MS }: LoopOptions): Promise<void> {
  const { database, now = Date.now, onReport } = deps;
  await runLoop(deps, { signal, intervalMs, lock: 'budgets', pauseFactor: PAUSE_FACTOR }, async (attempt) => {
    for (const { id: workspaceId } of await listWorkspaces(database.database)) {
      for (const budget of await listBudgets(database.database, workspaceId)) {
        if (signal.aborted) return;
        await attempt(async () => {
          const crossings = await evaluateBudget(database, budget, now());
          if (crossings.length > 0) onReport({ workspaceId, budgetId: budget.id, crossings });
        });
      }
    }
  });
}
