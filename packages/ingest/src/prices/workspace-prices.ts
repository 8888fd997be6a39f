import {
  type Actor,
  type Database,
  type DatabasePool,
  findCurrencyLabel,
  listPriceOverrides,
  type ModelComparison,
  replaceWorkspacePrices,
} from '@recount/db';
import type { ModelPriceTable, PriceOverride } from '@recount/prices';

/** Loaded on first use: the list takes 6 MB. Shared by all workspaces, so that each model is resolved once. */
let listPrices: ModelPriceTable | undefined;

/** The price table, preceded by the workspace's own rates. Throws if a stored rate is invalid. */
export async function readWorkspacePrices(database: Database, workspaceId: string): Promise<ModelPriceTable> {
  const overrides = await readWorkspaceOverrides(database, workspaceId);
  const { createListPrices, createPriceTable } = await import('@recount/prices');
  if (overrides.length > 0) return createPriceTable({ overrides });
  listPrices ??= createListPrices();
  return listPrices;
}

/** The workspace's own rates. Throws if a stored rate is invalid. */
async function readWorkspaceOverrides(database: Database, workspaceId: string): Promise<PriceOverride[]> {
  const { parsePriceOverrides } = await import('@recount/prices');
  const parsed = parsePriceOverrides(await listPriceOverrides(database, workspaceId));
  if ('issues' in parsed) throw new Error(`The workspace's rates are not valid: ${parsed.issues[0]?.message}`);
  return parsed.overrides;
}

/** Compares the models of a workspace by its prices. */
export async function readModelComparison(database: Database, workspaceId: string): Promise<ModelComparison> {
  const { findModelMaker, listRequestSizes } = await import('@recount/prices');
  const overrides = await readWorkspaceOverrides(database, workspaceId);
  return {
    prices: await readWorkspacePrices(database, workspaceId),
    requestSizes: listRequestSizes(overrides),
    isComparable: (model, other) =>
      findModelMaker(model) !== undefined && findModelMaker(model) === findModelMaker(other),
  };
}

/** A workspace's prices. */
export interface PriceSettings {
  currencyLabel: string;
  /** Version of the table made of the overrides and the list. */
  priceVersion: string;
  overrides: PriceOverride[];
}

export interface PriceSettingsChange {
  currencyLabel?: string | undefined;
  /** Valid ones, as `parsePriceOverrides` returns them; they replace all existing ones. */
  overrides?: readonly PriceOverride[] | undefined;
}

/** Throws if there is no such workspace. */
export async function readPriceSettings(database: Database, workspaceId: string): Promise<PriceSettings> {
  const currencyLabel = await findCurrencyLabel(database, workspaceId);
  if (currencyLabel === undefined) throw new Error('There is no such workspace');
  const { version: priceVersion } = await readWorkspacePrices(database, workspaceId);
  return { currencyLabel, priceVersion, overrides: await readWorkspaceOverrides(database, workspaceId) };
}

/** Changes the given settings for future ingestions and returns the resulting ones. */
export async function changePriceSettings(
  { database }: { database: Pick<DatabasePool, 'withTransaction'> },
  workspaceId: string,
  { currencyLabel, overrides }: PriceSettingsChange,
  actor: Actor = 'system',
): Promise<PriceSettings> {
  return await database.withTransaction(async (transaction) => {
    const rows = overrides?.map(({ model, startsAt, longContext, ...rates }) => ({
      model,
      startsAt,
      rates: { ...rates, ...(longContext !== undefined && { longContext: { ...longContext } }) },
    }));
    await replaceWorkspacePrices(transaction, workspaceId, { currencyLabel, overrides: rows }, actor);
    return await readPriceSettings(transaction, workspaceId);
  });
}
