import { randomBytes } from 'node:crypto';
import type { TextReaders } from '@recount/contract/access';
import type { Database } from '../database/database.ts';
import { lockWorkspace } from '../database/locks.ts';
import { and, eq, isNotNull, or, sql } from '../drizzle.cjs';
import { sessionShares } from '../schema/shares.ts';
import { type RedactionMode, workspaceSettings, workspaces } from '../schema/workspaces.ts';
import { type Actor, addAuditEntry } from './audit-log.ts';

export interface WorkspaceSettings {
  redaction: RedactionMode;
  /** Days after its last activity until a session's messages and texts are deleted; null means never. */
  rowsMaxAgeDays: number | null;
  /** Days after its last activity until a transcript's raw object is deleted; null means never. */
  rawMaxAgeDays: number | null;
  /** Who may see the texts of others. */
  textReaders: TextReaders;
  /** Names of people are shown only if the workspace has at least this many; null means always. */
  namesFromPeople: number | null;
}

const COLUMNS = {
  redaction: workspaceSettings.redaction,
  rowsMaxAgeDays: workspaceSettings.rows_max_age_days,
  rawMaxAgeDays: workspaceSettings.raw_max_age_days,
  textReaders: workspaces.text_readers,
  namesFromPeople: workspaces.names_from_people,
};

const selectSettings = (database: Database, workspaceId: string) =>
  database
    .select(COLUMNS)
    .from(workspaces)
    .leftJoin(workspaceSettings, eq(workspaceSettings.workspace_id, workspaces.id))
    .where(eq(workspaces.id, workspaceId));

type SettingsColumns = Awaited<ReturnType<typeof selectSettings>>[number];

const toSettings = ({ redaction, ...others }: SettingsColumns): WorkspaceSettings => ({
  redaction: redaction ?? 'off',
  ...others,
});

const SALT_BYTES = 32;

/** A secret to make pseudonyms with; without it, names could be guessed and compared. */
export const newPseudonymSalt = (): string => randomBytes(SALT_BYTES).toString('base64url');

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

/** The secret that a workspace's pseudonyms are made with; makes it when it is first needed. */
export async function ensurePseudonymSalt(database: Database, workspaceId: string): Promise<string> {
  const [row] = await database
    .update(workspaces)
    .set({ pseudonym_salt: sql`coalesce(${workspaces.pseudonym_salt}, ${newPseudonymSalt()})` })
    .where(eq(workspaces.id, workspaceId))
    .returning({ salt: workspaces.pseudonym_salt });
  if (row?.salt == null) throw new Error('There is no such workspace');
  return row.salt;
}

/** Missing fields are unchanged. */
export type WorkspaceSettingsChange = { [Name in keyof WorkspaceSettings]?: WorkspaceSettings[Name] | undefined };

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
  await transaction
    .insert(workspaceSettings)
    .values({ workspace_id: workspaceId, ...columns })
    .onConflictDoUpdate({
      target: workspaceSettings.workspace_id,
      set: { ...columns, updated_at: sql`excluded.updated_at` },
    });
  if (change.textReaders !== undefined || change.namesFromPeople !== undefined) {
    await transaction
      .update(workspaces)
      .set({
        ...(change.textReaders !== undefined && { text_readers: change.textReaders }),
        ...(change.namesFromPeople !== undefined && { names_from_people: change.namesFromPeople }),
        // The same as long as they are on, so that a pseudonym always means the same person.
        pseudonym_salt: sql`coalesce(${workspaces.pseudonym_salt}, ${newPseudonymSalt()})`,
      })
      .where(eq(workspaces.id, workspaceId));
  }
  // They have names, or none, as before.
  if (change.namesFromPeople !== undefined) await emptySharedPages(transaction, workspaceId);
  const changed = await readWorkspaceSettings(transaction, workspaceId);
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

/** Empties the pages of a workspace's views after a change of people or teams, if it shows names depending on their size. */
export async function emptyPagesAfterPeople(transaction: Database, workspaceId: string): Promise<void> {
  const [workspace] = await transaction
    .select({ namesFromPeople: workspaces.names_from_people })
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId));
  if (workspace !== undefined && workspace.namesFromPeople !== null) await emptySharedPages(transaction, workspaceId);
}

/**
 * Empties the pages of a workspace's views, which may show names that it hides now, because its policy, its people or
 * their teams have changed. They are made again when they are opened.
 */
async function emptySharedPages(transaction: Database, workspaceId: string): Promise<void> {
  const isView = and(isNotNull(sessionShares.view), sql`octet_length(${sessionShares.page}) > 0`);
  await transaction
    .update(sessionShares)
    .set({ page: new Uint8Array(), page_at: '1970-01-01T00:00:00.000Z' })
    .where(and(eq(sessionShares.workspace_id, workspaceId), isView));
}
