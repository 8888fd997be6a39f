import type { JsonObject } from '@recount/core';
import type { Database } from '../database/database.ts';
import { lockWorkspaceChanges } from '../database/locks.ts';
import { asc, eq } from '../drizzle.cjs';
import { priceOverrides } from '../schema/usage.ts';
import { workspaces } from '../schema/workspaces.ts';
import { type Actor, addAuditEntry } from './audit-log.ts';

/** A workspace's own rates, each an object as accepted by `parsePriceOverrides` of packages/prices. */
export async function listPriceOverrides(database: Database, workspaceId: string): Promise<JsonObject[]> {
  const rows = await database
    .select()
    .from(priceOverrides)
    .where(eq(priceOverrides.workspace_id, workspaceId))
    .orderBy(asc(priceOverrides.model), asc(priceOverrides.starts_at));
  return rows.map(({ model, starts_at, rates }) => ({
    model,
    ...(starts_at !== '' && { startsAt: starts_at }),
    ...rates,
  }));
}

/** The workspace's label for the currency of its costs; undefined if there is no such workspace. */
export async function findCurrencyLabel(database: Database, workspaceId: string): Promise<string | undefined> {
  const [workspace] = await database
    .select({ currencyLabel: workspaces.currency_label })
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId));
  return workspace?.currencyLabel;
}

interface NewPriceOverride {
  model: string;
  /** ISO 8601 in UTC; undefined means always. */
  startsAt: string | undefined;
  /** The rest of the override. */
  rates: JsonObject;
}

interface PriceChange {
  currencyLabel?: string | undefined;
  /** Replace all existing ones. */
  overrides?: readonly NewPriceOverride[] | undefined;
}

/** Changes the given parts and leaves the rest, in one transaction. Stored costs do not change. */
export async function replaceWorkspacePrices(
  transaction: Database,
  workspaceId: string,
  { currencyLabel, overrides }: PriceChange,
  actor: Actor,
): Promise<void> {
  // The later one of two concurrent changes is stored as a whole.
  await lockWorkspaceChanges(transaction, workspaceId);
  await addAuditEntry(transaction, {
    workspaceId,
    actor,
    action: 'prices.change',
    subjects: [],
    details: {
      ...(currencyLabel !== undefined && { currency_label: currencyLabel }),
      ...(overrides !== undefined && { overrides: overrides.length, models: toNames(overrides) }),
    },
  });
  if (currencyLabel !== undefined) {
    await transaction.update(workspaces).set({ currency_label: currencyLabel }).where(eq(workspaces.id, workspaceId));
  }
  if (overrides === undefined) return;
  await transaction.delete(priceOverrides).where(eq(priceOverrides.workspace_id, workspaceId));
  if (overrides.length === 0) return;
  const rows = overrides.map(({ model, startsAt = '', rates }) => ({
    workspace_id: workspaceId,
    model,
    starts_at: startsAt,
    rates,
  }));
  await transaction.insert(priceOverrides).values(rows);
}

const MAX_NAMED_MODELS = 100;

const toNames = (overrides: readonly NewPriceOverride[]): string[] =>
  [...new Set(overrides.map(({ model }) => model))].slice(0, MAX_NAMED_MODELS);
