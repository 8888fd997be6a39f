import type { JsonObject } from '@recount/core';
import type { Database } from '../database/database.ts';
import { and, asc, eq, gt, inArray, isNull, sql } from '../drizzle.cjs';
import { liveSessions } from '../schema/live.ts';
import { transcripts } from '../schema/transcripts.ts';
import { priceOverrides } from '../schema/usage.ts';
import { type ApiKeyScope, apiKeys, type RedactionMode, workspaceSettings, workspaces } from '../schema/workspaces.ts';
import { deleteWorkspaceRows } from './workspaces.ts';

/** A workspace's name and choices, which is everything in the database that its transcripts do not contain. */
export interface WorkspaceRecord {
  id: string;
  name: string;
  currency_label: string;
  created_at: string;
  /** Null means the defaults. */
  settings: {
    redaction: RedactionMode;
    rows_max_age_days: number | null;
    raw_max_age_days: number | null;
  } | null;
  price_overrides: { model: string; starts_at: string; rates: JsonObject }[];
  /** Active keys, in the order of their creation, without anything for using or recognising them. */
  api_keys: { name: string; scopes: ApiKeyScope[] }[];
}

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
  const keys = await database
    .select({ workspace_id: apiKeys.workspace_id, name: apiKeys.name, scopes: apiKeys.scopes })
    .from(apiKeys)
    .where(and(inArray(apiKeys.workspace_id, ids), isNull(apiKeys.revoked_at)))
    .orderBy(asc(apiKeys.id));
  return rows.map((row) => {
    const isOf = ({ workspace_id }: { workspace_id: string }): boolean => workspace_id === row.id;
    const chosen = settings.find(isOf);
    return {
      ...row,
      settings: chosen
        ? {
            redaction: chosen.redaction,
            rows_max_age_days: chosen.rows_max_age_days,
            raw_max_age_days: chosen.raw_max_age_days,
          }
        : null,
      price_overrides: overrides.filter(isOf).map(({ model, starts_at, rates }) => ({ model, starts_at, rates })),
      api_keys: keys.filter(isOf).map(({ name, scopes }) => ({ name, scopes })),
    };
  });
}

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
