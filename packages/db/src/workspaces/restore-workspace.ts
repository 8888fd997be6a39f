import type { Database } from '../database/database.ts';
import { eq, sql } from '../drizzle.cjs';
import { liveSessions } from '../live/schema.ts';
import { transcripts } from '../transcripts/schema.ts';
import { priceOverrides } from '../usage/schema.ts';
import { deleteWorkspaceRows } from './delete-workspace-rows.ts';
import type { WorkspaceRecord } from './list-workspace-records.ts';
import { apiKeys, workspaces } from './schema.ts';
import { workspaceSettings } from './workspace-settings-schema.ts';

export interface RestoredWorkspace {
  /** Another one than that of the record where a workspace in use has that. */
  name: string;
  /** The empty workspace of that name, whose place and keys the restored one has taken. */
  replacedId: string | undefined;
}

/**
 * Makes a workspace again as its record has it; undefined, and nothing done, where it is there. An empty workspace of the
 * same name, as every new installation makes one, gives way: its keys are the restored one's from now on.
 */
export async function restoreWorkspace(
  transaction: Database,
  record: WorkspaceRecord,
): Promise<RestoredWorkspace | undefined> {
  const { id, name, currency_label, created_at } = record;
  const [namesake] = await transaction
    .select({ id: workspaces.id })
    .from(workspaces)
    .where(eq(workspaces.name, name))
    .for('update');
  if (namesake?.id === id) return undefined;
  const isReplacing = namesake !== undefined && (await isEmpty(transaction, namesake.id));
  const temporaryName = namesake === undefined ? name : `${name} ${id}`;
  const inserted = await transaction
    .insert(workspaces)
    .values({ id, name: temporaryName, currency_label, created_at })
    .onConflictDoNothing({ target: workspaces.id })
    .returning({ id: workspaces.id });
  if (inserted.length === 0) return undefined;
  if (record.settings !== null) {
    await transaction.insert(workspaceSettings).values({ workspace_id: id, ...record.settings });
  }
  const overrides = record.price_overrides.map((override) => ({ workspace_id: id, ...override }));
  if (overrides.length > 0) await transaction.insert(priceOverrides).values(overrides);
  if (!isReplacing) return { name: temporaryName, replacedId: undefined };
  await transaction.update(apiKeys).set({ workspace_id: id }).where(eq(apiKeys.workspace_id, namesake.id));
  await deleteWorkspaceRows(transaction, namesake.id, { isFinal: true, actor: 'system' });
  await transaction.update(workspaces).set({ name }).where(eq(workspaces.id, id));
  return { name, replacedId: namesake.id };
}

async function isEmpty(transaction: Database, workspaceId: string): Promise<boolean> {
  const { rows } = await transaction.execute(sql`
    SELECT FROM ${transcripts} WHERE workspace_id = ${workspaceId}
    UNION ALL SELECT FROM ${liveSessions} WHERE workspace_id = ${workspaceId} LIMIT 1`);
  return rows.length === 0;
}
