import type { ApiKeyScope, TextReaders } from '@recount/contract/access';
import type { JsonObject } from '@recount/core';
import type { Database } from '../database/database.ts';
import { and, asc, eq, gt, inArray, isNull, sql } from '../drizzle.cjs';
import { alertDestinations } from '../schema/alerts.ts';
import { budgets } from '../schema/budgets.ts';
import { digests } from '../schema/digests.ts';
import { addressedFindings, findingDismissals } from '../schema/finding-decisions.ts';
import { liveSessions } from '../schema/live.ts';
import { transcripts } from '../schema/transcripts.ts';
import { priceOverrides } from '../schema/usage.ts';
import { apiKeys, type RedactionMode, type StoredPlan, workspaceSettings, workspaces } from '../schema/workspaces.ts';
import { listRecordedRenames, type RecordedRename, restoreRenames } from './repository-renames.ts';
import { newPseudonymSalt } from './workspace-settings.ts';
import { deleteWorkspaceRows } from './workspaces.ts';

/** A workspace's name and choices, which is everything in the database that its transcripts do not contain. */
export interface WorkspaceRecord {
  id: string;
  name: string;
  currency_label: string;
  created_at: string;
  /** Who may see texts, and from how many people on names are shown; records of earlier versions lack both. */
  text_readers?: TextReaders;
  names_from_people?: number | null;
  /** Null means the defaults. */
  settings: {
    redaction: RedactionMode;
    rows_max_age_days: number | null;
    raw_max_age_days: number | null;
    /** Missing in records of earlier versions. */
    plans?: StoredPlan[];
  } | null;
  price_overrides: { model: string; starts_at: string; rates: JsonObject }[];
  /** Missing in records from before recount 0.4. */
  budgets?: BudgetRecord[];
  /** Missing in records of earlier versions. */
  finding_dismissals?: Omit<typeof findingDismissals.$inferSelect, 'workspace_id'>[];
  addressed_findings?: Omit<typeof addressedFindings.$inferSelect, 'workspace_id'>[];
  /** With their secrets, which only the key of the environment decrypts. */
  destinations?: DestinationRecord[];
  digests?: Omit<typeof digests.$inferSelect, 'workspace_id'>[];
  /** Records of earlier versions have none. */
  repository_renames?: RecordedRename[];
  /** Active keys, in the order of their creation, without anything for using or recognising them. */
  api_keys: { name: string; scopes: ApiKeyScope[] }[];
}

type DestinationRecord = Omit<typeof alertDestinations.$inferSelect, 'workspace_id'>;

/** A budget without its workspace. */
type BudgetRecord = Omit<typeof budgets.$inferSelect, 'workspace_id'>;

const PAGE_ROWS = 100;

/** Every workspace, page by page. */
export async function* listWorkspaceRecords(database: Database): AsyncGenerator<WorkspaceRecord[]> {
  let lastId = '';
  for (;;) {
    const rows: WorkspaceRow[] = await database
      .select()
      .from(workspaces)
      .where(gt(workspaces.id, lastId))
      .orderBy(asc(workspaces.id))
      .limit(PAGE_ROWS);
    if (rows.length > 0) yield await toRecords(database, rows);
    lastId = rows.at(-1)?.id ?? lastId;
    if (rows.length < PAGE_ROWS) return;
  }
}

type WorkspaceRow = typeof workspaces.$inferSelect;

async function toRecords(database: Database, rows: readonly WorkspaceRow[]): Promise<WorkspaceRecord[]> {
  const ids = rows.map(({ id }) => id);
  const settings = await database.select().from(workspaceSettings).where(inArray(workspaceSettings.workspace_id, ids));
  const overrides = await database
    .select()
    .from(priceOverrides)
    .where(inArray(priceOverrides.workspace_id, ids))
    .orderBy(asc(priceOverrides.model), asc(priceOverrides.starts_at));
  const dismissals = await database
    .select()
    .from(findingDismissals)
    .where(inArray(findingDismissals.workspace_id, ids))
    .orderBy(asc(findingDismissals.id));
  const addressed = await database
    .select()
    .from(addressedFindings)
    .where(inArray(addressedFindings.workspace_id, ids))
    .orderBy(asc(addressedFindings.kind));
  const keys = await database
    .select({ workspace_id: apiKeys.workspace_id, name: apiKeys.name, scopes: apiKeys.scopes })
    .from(apiKeys)
    .where(and(inArray(apiKeys.workspace_id, ids), isNull(apiKeys.revoked_at)))
    .orderBy(asc(apiKeys.id));
  const ownBudgets = await database
    .select()
    .from(budgets)
    .where(inArray(budgets.workspace_id, ids))
    .orderBy(asc(budgets.id));
  const destinations = await database
    .select()
    .from(alertDestinations)
    .where(inArray(alertDestinations.workspace_id, ids))
    .orderBy(asc(alertDestinations.id));
  const ownDigests = await database
    .select()
    .from(digests)
    .where(inArray(digests.workspace_id, ids))
    .orderBy(asc(digests.id));
  const renames = await listRecordedRenames(database, ids);
  return rows.map((row) => {
    const isOf = ({ workspace_id }: { workspace_id: string }): boolean => workspace_id === row.id;
    const chosen = settings.find(isOf);
    const { pseudonym_salt: _salt, ...known } = row;
    return {
      ...known,
      settings: chosen === undefined ? null : toRecordedSettings(chosen),
      price_overrides: overrides.filter(isOf).map(({ model, starts_at, rates }) => ({ model, starts_at, rates })),
      budgets: ownBudgets.filter(isOf).map(({ workspace_id: _workspaceId, ...budget }) => budget),
      finding_dismissals: dismissals.filter(isOf).map(withoutWorkspace),
      addressed_findings: addressed.filter(isOf).map(withoutWorkspace),
      destinations: destinations.filter(isOf).map(withoutWorkspace),
      digests: ownDigests.filter(isOf).map(withoutWorkspace),
      repository_renames: renames
        .filter(isOf)
        .map(({ name, id, new_name, actor, changed_at }) => ({ name, id, new_name, actor, changed_at })),
      api_keys: keys.filter(isOf).map(({ name, scopes }) => ({ name, scopes })),
    };
  });
}

const toRecordedSettings = ({
  redaction,
  rows_max_age_days,
  raw_max_age_days,
  plans,
}: typeof workspaceSettings.$inferSelect): WorkspaceRecord['settings'] => ({
  redaction,
  rows_max_age_days,
  raw_max_age_days,
  plans,
});

const withoutWorkspace = <Row extends { workspace_id: string }>({ workspace_id: _id, ...row }: Row) => row;

interface RestoredWorkspace {
  /** Differs from the record's if a workspace in use has that name. */
  name: string;
  /** The empty workspace of that name, which the restored one replaced, taking over its keys. */
  replacedId: string | undefined;
}

/**
 * Recreates a workspace from its record; undefined, doing nothing, if it exists. An empty workspace of the same name,
 * which every new installation creates, is replaced. Its keys become the restored one's.
 */
export async function restoreWorkspace(
  transaction: Database,
  record: WorkspaceRecord,
): Promise<RestoredWorkspace | undefined> {
  const { id, name, currency_label, created_at, text_readers = 'readers', names_from_people = null } = record;
  const pseudonym_salt = names_from_people === null ? null : newPseudonymSalt();
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
    .values({
      ...{ id, name: temporaryName, currency_label, created_at },
      ...{ text_readers, names_from_people, pseudonym_salt },
    })
    .onConflictDoNothing({ target: workspaces.id })
    .returning({ id: workspaces.id });
  if (inserted.length === 0) return undefined;
  if (record.settings !== null) {
    await transaction.insert(workspaceSettings).values({ workspace_id: id, ...record.settings });
  }
  const overrides = record.price_overrides.map((override) => ({ workspace_id: id, ...override }));
  if (overrides.length > 0) await transaction.insert(priceOverrides).values(overrides);
  const restored = (record.budgets ?? []).map((budget) => ({ ...budget, workspace_id: id }));
  if (restored.length > 0) await transaction.insert(budgets).values(restored);
  const dismissals = (record.finding_dismissals ?? []).map((row) => ({ ...row, workspace_id: id }));
  if (dismissals.length > 0) await transaction.insert(findingDismissals).values(dismissals);
  const addressed = (record.addressed_findings ?? []).map((row) => ({ ...row, workspace_id: id }));
  if (addressed.length > 0) await transaction.insert(addressedFindings).values(addressed);
  const places = (record.destinations ?? []).map((destination) => ({ ...destination, workspace_id: id }));
  if (places.length > 0) await transaction.insert(alertDestinations).values(places);
  const ownDigests = (record.digests ?? []).map((digest) => ({ ...digest, workspace_id: id }));
  if (ownDigests.length > 0) await transaction.insert(digests).values(ownDigests);
  await restoreRenames(transaction, id, record.repository_renames ?? []);
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
