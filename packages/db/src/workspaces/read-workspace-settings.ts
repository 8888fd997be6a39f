import type { Database } from '../database/database.ts';
import { eq, isNotNull, or } from '../drizzle.cjs';
import { workspaces } from './schema.ts';
import { type RedactionMode, workspaceSettings } from './workspace-settings-schema.ts';

export interface WorkspaceSettings {
  redaction: RedactionMode;
  /** Days after its last activity until a session's messages and texts are deleted; null: never. */
  rowsMaxAgeDays: number | null;
  /** Days after its last activity until a transcript's raw object is deleted; null: never. */
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

/** Undefined where there is no such workspace. */
export async function readWorkspaceSettings(
  database: Database,
  workspaceId: string,
): Promise<WorkspaceSettings | undefined> {
  const [row] = await selectSettings(database, workspaceId);
  return row && toSettings(row);
}

/** As `readWorkspaceSettings`; the workspace cannot be deleted until the transaction ends. */
export async function holdWorkspace(
  transaction: Database,
  workspaceId: string,
): Promise<WorkspaceSettings | undefined> {
  await transaction
    .select({ id: workspaces.id })
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId))
    .for('key share');
  return await readWorkspaceSettings(transaction, workspaceId);
}

/** Workspaces in which something is to be deleted by its age. */
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
