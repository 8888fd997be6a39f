import { ulid } from 'ulid';
import { enqueueMessages, type NewMessage } from '../alerts/deliveries.ts';
import { holdDestinations } from '../alerts/destinations.ts';
import type { Database } from '../database/database.ts';
import { and, asc, desc, eq, gt, or, sql } from '../drizzle.cjs';
import { budgetCrossings, budgets } from '../schema/budgets.ts';
import { type Actor, addAuditEntry } from '../workspaces/audit-log.ts';
import { lockWorkspaceShared } from '../workspaces/workspace-settings.ts';
import type { Crossing } from './find-crossings.ts';

export type BudgetRow = typeof budgets.$inferSelect;
export type BudgetCrossingRow = typeof budgetCrossings.$inferSelect;

/** The parts of a budget that may change. What it counts stays, so that its history has one meaning. */
export type BudgetChange = Partial<
  Pick<BudgetRow, 'name' | 'amount' | 'thresholds' | 'forecast_percent' | 'anomaly_factor' | 'destination_ids'>
>;
export type NewBudget = Required<BudgetChange> & Pick<BudgetRow, 'period' | 'time_zone' | 'unit' | 'filters'>;

/** Budgets of a workspace; each takes a report a minute. */
export const MAX_BUDGETS = 200;

const isBudget = (workspaceId: string, id: string) => and(eq(budgets.workspace_id, workspaceId), eq(budgets.id, id));

/** All budgets of a workspace by name. */
export async function listBudgets(database: Database, workspaceId: string): Promise<BudgetRow[]> {
  return await database.select().from(budgets).where(eq(budgets.workspace_id, workspaceId)).orderBy(asc(budgets.name));
}

/** Undefined if the workspace has no such budget. */
export async function findBudget(database: Database, workspaceId: string, id: string): Promise<BudgetRow | undefined> {
  const [row] = await database.select().from(budgets).where(isBudget(workspaceId, id));
  return row;
}

/**
 * Does nothing and returns the reason if the workspace has a budget of that name, as many as are allowed, or no such
 * destination.
 */
export async function createBudget(
  transaction: Database,
  workspaceId: string,
  budget: NewBudget,
  actor: Actor,
): Promise<BudgetRow | 'taken' | 'too-many' | 'no-destination'> {
  // A workspace that is being deleted keeps none.
  await lockWorkspaceShared(transaction, workspaceId);
  const existing = await listBudgets(transaction, workspaceId);
  if (existing.some(({ name }) => name === budget.name)) return 'taken';
  if (existing.length >= MAX_BUDGETS) return 'too-many';
  if (!(await holdDestinations(transaction, workspaceId, budget.destination_ids))) return 'no-destination';
  const [row] = await transaction
    .insert(budgets)
    .values({ ...budget, workspace_id: workspaceId, id: ulid() })
    .onConflictDoNothing()
    .returning();
  if (row === undefined) return 'taken';
  const details = { ...budget };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'budget.create', subjects: [row.id], details });
  return row;
}

/** Undefined if there is no such budget; `taken` if another one has the name; `no-destination` if one is not there. */
export async function changeBudget(
  transaction: Database,
  { workspaceId, id, actor }: { workspaceId: string; id: string; actor: Actor },
  change: BudgetChange,
): Promise<BudgetRow | 'taken' | 'no-destination' | undefined> {
  // Also waits for a worker that records what this budget has crossed.
  const [before] = await transaction.select().from(budgets).where(isBudget(workspaceId, id)).for('update');
  if (before === undefined) return undefined;
  const namesakes = await listBudgets(transaction, workspaceId);
  if (namesakes.some((other) => other.id !== id && other.name === change.name)) return 'taken';
  if (!(await holdDestinations(transaction, workspaceId, change.destination_ids))) return 'no-destination';
  // After the wait, and by a separate statement, because Citus refuses the clock in an UPDATE.
  const { rows } = await transaction.execute<{ now: string }>(sql`SELECT clock_timestamp()::text AS now`);
  const [row] = await transaction
    .update(budgets)
    .set({ ...change, updated_at: sql`${rows[0]?.now}::timestamptz` })
    .where(isBudget(workspaceId, id))
    .returning();
  const from = Object.fromEntries(Object.keys(change).map((key) => [key, before[key as keyof BudgetChange]]));
  const details = { from, to: change };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'budget.change', subjects: [id], details });
  return row;
}

/** Deletes a budget with its history; false if there is none. */
export async function deleteBudget(
  transaction: Database,
  { workspaceId, id, actor }: { workspaceId: string; id: string; actor: Actor },
): Promise<boolean> {
  const [deleted] = await transaction.delete(budgets).where(isBudget(workspaceId, id)).returning();
  if (deleted === undefined) return false;
  await transaction
    .delete(budgetCrossings)
    .where(and(eq(budgetCrossings.workspace_id, workspaceId), eq(budgetCrossings.budget_id, id)));
  const details = { name: deleted.name, amount: deleted.amount, unit: deleted.unit };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'budget.delete', subjects: [id], details });
  return true;
}

const toKey = ({ period_start, kind, threshold }: Pick<Crossing, 'period_start' | 'kind' | 'threshold'>): string =>
  `${period_start} ${kind} ${threshold}`;

/** The crossings of a budget that are not recorded yet. */
export async function listNewCrossings(
  database: Database,
  { workspace_id, id }: Pick<BudgetRow, 'workspace_id' | 'id'>,
  crossings: readonly Crossing[],
): Promise<Crossing[]> {
  if (crossings.length === 0) return [];
  const { period_start, kind, threshold } = budgetCrossings;
  const known = await database
    .select({ period_start, kind, threshold })
    .from(budgetCrossings)
    .where(and(eq(budgetCrossings.workspace_id, workspace_id), eq(budgetCrossings.budget_id, id)));
  const keys = new Set(known.map(toKey));
  return crossings.filter((crossing) => !keys.has(toKey(crossing)));
}

/**
 * Records what a budget has crossed, each once, with the messages about it, and returns what was not recorded before. Of
 * several thresholds of a period only the highest is told. Records nothing if the budget was changed or deleted since it was read, because the crossings may then be wrong.
 */
export async function recordCrossings(
  transaction: Database,
  budget: BudgetRow,
  crossings: readonly Crossing[],
  crossedAt: string,
): Promise<BudgetCrossingRow[]> {
  if (crossings.length === 0) return [];
  const { workspace_id, id } = budget;
  const [current] = await transaction.select().from(budgets).where(isBudget(workspace_id, id)).for('update');
  if (current?.updated_at !== budget.updated_at) return [];
  const rows = crossings.map((crossing) => ({ ...crossing, workspace_id, budget_id: id, crossed_at: crossedAt }));
  const recorded = await transaction.insert(budgetCrossings).values(rows).onConflictDoNothing().returning();
  await enqueueMessages(transaction, workspace_id, toMessages(budget, recorded), current.destination_ids);
  return recorded;
}

function toMessages(budget: BudgetRow, crossings: readonly BudgetCrossingRow[]): NewMessage[] {
  const isTold = (crossing: BudgetCrossingRow): boolean =>
    !crossings.some(
      ({ kind, period_start, threshold }) =>
        kind === crossing.kind && period_start === crossing.period_start && threshold > crossing.threshold,
    );
  return crossings.filter(isTold).map(({ workspace_id: _workspaceId, ...crossing }) => ({
    event: 'budget.crossed',
    payload: { ...crossing, budget_name: budget.name, period: budget.period, time_zone: budget.time_zone },
    uniqueKey: `budget ${budget.id} ${toKey(crossing)}`,
  }));
}

type CrossingPlace = Pick<BudgetCrossingRow, 'crossed_at' | 'period_start' | 'kind' | 'threshold'>;

/** A page of a budget's history, the latest first; after `after` if given. */
export async function listCrossings(
  database: Database,
  { workspaceId, budgetId }: { workspaceId: string; budgetId: string },
  { after, limit }: { after?: CrossingPlace | undefined; limit: number },
): Promise<BudgetCrossingRow[]> {
  const { crossed_at, period_start, kind, threshold } = budgetCrossings;
  const columns = [crossed_at, period_start, kind, threshold] as const;
  return await database
    .select()
    .from(budgetCrossings)
    .where(
      and(
        eq(budgetCrossings.workspace_id, workspaceId),
        eq(budgetCrossings.budget_id, budgetId),
        after &&
          sql`(${sql.join([...columns], sql`, `)}) <
            (${after.crossed_at}::timestamptz, ${after.period_start}, ${after.kind}, ${after.threshold}::int)`,
      ),
    )
    .orderBy(...columns.map((column) => desc(column)))
    .limit(limit);
}

/** Changes with each crossing of a workspace; undefined if it has none. */
export async function readCrossingState(database: Database, workspaceId: string): Promise<string | undefined> {
  const { rows } = await database.execute<{ count: number; latest: string | null }>(sql`
    SELECT count(*)::int AS count, max(crossed_at)::text AS latest
    FROM ${budgetCrossings} WHERE workspace_id = ${workspaceId}`);
  const [row] = rows;
  return row === undefined || row.count === 0 ? undefined : `${row.count} ${row.latest}`;
}

const PAGE_ROWS = 500;

/** All crossings of a workspace, page by page. */
export async function* listAllCrossings(database: Database, workspaceId: string): AsyncGenerator<BudgetCrossingRow[]> {
  let after: BudgetCrossingRow | undefined;
  const { budget_id, period_start, kind, threshold } = budgetCrossings;
  for (;;) {
    const isAfter = after && [
      gt(budget_id, after.budget_id),
      and(
        eq(budget_id, after.budget_id),
        sql`(${period_start}, ${kind}, ${threshold}) > (${after.period_start}, ${after.kind}, ${after.threshold}::int)`,
      ),
    ];
    const rows: BudgetCrossingRow[] = await database
      .select()
      .from(budgetCrossings)
      .where(and(eq(budgetCrossings.workspace_id, workspaceId), isAfter && or(...isAfter)))
      .orderBy(budget_id, period_start, kind, threshold)
      .limit(PAGE_ROWS);
    if (rows.length > 0) yield rows;
    after = rows.at(-1);
    if (rows.length < PAGE_ROWS) return;
  }
}

/** Stores crossings again, and leaves those alone that are there. */
export async function restoreCrossings(
  transaction: Database,
  workspaceId: string,
  rows: readonly BudgetCrossingRow[],
): Promise<void> {
  if (rows.length === 0) return;
  const values = rows.map((row) => ({ ...row, workspace_id: workspaceId }));
  await transaction.insert(budgetCrossings).values(values).onConflictDoNothing();
}
