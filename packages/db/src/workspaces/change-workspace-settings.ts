import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { type Actor, addAuditEntry } from './add-audit-entry.ts';
import { readWorkspaceSettings, type WorkspaceSettings } from './read-workspace-settings.ts';
import { type RedactionMode, workspaceSettings } from './workspace-settings-schema.ts';

/** What is left out stays as it is. */
export interface WorkspaceSettingsChange {
  redaction?: RedactionMode | undefined;
  rowsMaxAgeDays?: number | null | undefined;
  rawMaxAgeDays?: number | null | undefined;
}

/** Changes the settings of a workspace, and returns them all. Fails with SQLSTATE 23503 where there is no such workspace. */
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
    .onConflictDoUpdate({ target: workspaceSettings.workspace_id, set: { ...columns, updated_at: sql`now()` } })
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
