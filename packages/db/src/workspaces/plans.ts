import type { Database } from '../database/database.ts';
import { eq, sql } from '../drizzle.cjs';
import { type StoredPlan, workspaceSettings } from '../schema/workspaces.ts';
import { type Actor, addAuditEntry } from './audit-log.ts';
import { lockWorkspaceShared } from './workspace-settings.ts';

/** The subscriptions of a workspace, in the order of their addition. */
export async function readPlans(database: Database, workspaceId: string): Promise<StoredPlan[]> {
  const [row] = await database
    .select({ plans: workspaceSettings.plans })
    .from(workspaceSettings)
    .where(eq(workspaceSettings.workspace_id, workspaceId));
  return row?.plans ?? [];
}

/** Replaces all subscriptions of a workspace, with an entry in the audit log. */
export async function replacePlans(
  transaction: Database,
  { workspaceId, actor }: { workspaceId: string; actor: Actor },
  plans: StoredPlan[],
): Promise<void> {
  await lockWorkspaceShared(transaction, workspaceId);
  const before = await readPlans(transaction, workspaceId);
  await transaction
    .insert(workspaceSettings)
    .values({ workspace_id: workspaceId, plans })
    .onConflictDoUpdate({
      target: workspaceSettings.workspace_id,
      set: { plans, updated_at: sql`excluded.updated_at` },
    });
  // The audit log is kept longer than people are, so it has no names of them.
  const toDetails = (all: readonly StoredPlan[]) =>
    all.map(({ name, monthly_usd, seats }) => ({ name, monthly_usd, seats }));
  const details = { from: toDetails(before), to: toDetails(plans) };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'plans.change', subjects: [], details });
}
