import type { JsonObject } from '@recount/core';
import type { Database } from '../database/database.ts';
import { and, asc, gt, inArray, isNull } from '../drizzle.cjs';
import { priceOverrides } from '../usage/schema.ts';
import { type ApiKeyScope, apiKeys, workspaces } from './schema.ts';
import { type RedactionMode, workspaceSettings } from './workspace-settings-schema.ts';

/** What a workspace is called and has chosen: all that the database knows of it and its transcripts do not tell. */
export interface WorkspaceRecord {
  id: string;
  name: string;
  currency_label: string;
  created_at: string;
  /** Null: the defaults. */
  settings: {
    redaction: RedactionMode;
    rows_max_age_days: number | null;
    raw_max_age_days: number | null;
  } | null;
  price_overrides: { model: string; starts_at: string; rates: JsonObject }[];
  /** Keys in use, in the order of their creation, without what they could be used or recognised by. */
  api_keys: { name: string; scopes: ApiKeyScope[] }[];
}

const PAGE_ROWS = 100;

/** Every workspace, a page at a time. */
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
