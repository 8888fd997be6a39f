import type { Database } from '../database/database.ts';
import { lockWorkspace } from '../database/locks.ts';
import { eq, isNotNull, or, sql } from '../drizzle.cjs';
import { type RedactionMode, workspaceSettings, workspaces } from '../schema/workspaces.ts';
import { type Actor, addAuditEntry } from './audit-log.ts';

export interface WorkspaceSettings {
  redaction: RedactionMode;
  /** Days after its last activity until a session's messages and texts are deleted; null means never. */
  rowsMaxAgeDays: number | null;
  /** Days after its last activity until a transcript's raw object is deleted; null means never. */
  rawMaxAgeDays: number | null;
}

const COLUMNS = {
  redaction: workspaceSettings.redaction,
  rowsMaxAgeDays: workspaceSettings.rows_max_age_days,
  rawMaxAgeDays: workspaceSettings.raw_max_age_days,
};

const selectSettings = (database: Database, workspaceId: string) =>
  database
    .select(COLUMNS)
    .from(workspaces)
    .leftJoin(workspaceSettings, eq(workspaceSettings.workspace_id, workspaces.id))
    .where(eq(workspaces.id, workspaceId));

type SettingsColumns = Awaited<ReturnType<typeof selectSettings>>[number];

const toSettings = ({ redaction, rowsMaxAgeDays, rawMaxAgeDays }: SettingsColumns): WorkspaceSettings => ({
  redaction: redaction ?? 'off',
  rowsMaxAgeDays,
  rawMaxAgeDays,
});

/** Undefined if there is no such workspace. */
export async function readWorkspaceSettings(
  database: Database,
  workspaceId: string,
): Promise<WorkspaceSettings | undefined> {
  const [row] = await selectSettings(database, workspaceId);
  return row && toSettings(row);
}

/** Like `readWorkspaceSettings`; also prevents the workspace's deletion until the transaction ends. */
export async function lockWorkspaceShared(
  transaction: Database,
  workspaceId: string,
): Promise<WorkspaceSettings | undefined> {
  await lockWorkspace(transaction, workspaceId, 'shared');
  return await readWorkspaceSettings(transaction, workspaceId);
}

/** Workspaces with deletion by age. */
export async function listRetainingWorkspaces(
  database: Database,
): Promise<{ id: string; name: string; settings: WorkspaceSettings }[]> {
  const rows = await database
    .select({ id: workspaces.id, name: workspaces.name, ...COLUMNS })
    .from(workspaces)
    .innerJoin(workspaceSettings, eq(workspaceSettings.workspace_id, workspaces.id))
    .where(or(isNotNull(workspaceSettings.rows_max_age_days), isNotNull(workspaceSettings.raw_max_age_days)))
    .orderBy(workspaces.name);
  return rows.map(({ id, name, ...settings }) => ({ id, name, settings: toSettings(settings) }));
}

/** Missing fields are unchanged. */
export interface WorkspaceSettingsChange {
  redaction?: RedactionMode | undefined;
  rowsMaxAgeDays?: number | null | undefined;
  rawMaxAgeDays?: number | null | undefined;
}

/**
 * Changes the settings of a workspace and returns all settings. Fails with SQLSTATE 23503 if there is no such
 * workspace.
 */
export async function changeWorkspaceSettings(
  transaction: Database,
  workspaceId: string,
  change: WorkspaceSettingsChange,
  actor: Actor = 'system',
): Promise<WorkspaceSettings> {
  const before = await readWorkspaceSettings(transaction, workspaceId);
  const columns = {
    ...(change.redaction !== undefined && { redaction: change.redaction }),
    ...(change.rowsMaxAgeDays !== undefined && { rows_max_age_days: change.rowsMaxAgeDays }),
    ...(change.rawMaxAgeDays !== undefined && { raw_max_age_days: change.rawMaxAgeDays }),
  };
  const [changed] = await transaction
    .insert(workspaceSettings)
    .values({ workspace_id: workspaceId, ...columns })
    .onConflictDoUpdate({
      target: workspaceSettings.workspace_id,
      set: { ...columns, updated_at: sql`excluded.updated_at` },
    })
    .returning({
      redaction: workspaceSettings.redaction,
      rowsMaxAgeDays: workspaceSettings.rows_max_age_days,
      rawMaxAgeDays: workspaceSettings.raw_max_age_days,
    });
  if (changed === undefined) throw new Error('The settings were not stored');
  await addAuditEntry(transaction, {
    workspaceId,
    actor,
    action: 'settings.change',
    subjects: [],
    details: { from: before, to: changed },
  });
  return changed;
}
