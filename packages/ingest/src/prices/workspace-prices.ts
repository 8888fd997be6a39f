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

/** Loaded when prices are first needed: their list takes 6 MB. One table for all workspaces, as it resolves models once. */
let listPrices: ModelPriceTable | undefined;

/** The price table with the workspace's own rates before it. Throws where a stored rate is none. */
export async function readWorkspacePrices(database: Database, workspaceId: string): Promise<ModelPriceTable> {
  const overrides = await readWorkspaceOverrides(database, workspaceId);
  const { createListPrices, createPriceTable } = await import('@recount/prices');
  if (overrides.length > 0) return createPriceTable({ overrides });
  listPrices ??= createListPrices();
  return listPrices;
}

/** The workspace's own rates. Throws where a stored rate is none. */
async function readWorkspaceOverrides(database: Database, workspaceId: string): Promise<PriceOverride[]> {
  const { parsePriceOverrides } = await import('@recount/prices');
  const parsed = parsePriceOverrides(await listPriceOverrides(database, workspaceId));
  if ('issues' in parsed) throw new Error(`The workspace's rates are not valid: ${parsed.issues[0]?.message}`);
  return parsed.overrides;
}

/** How the models of a workspace compare, by its prices. */
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

/** How a workspace prices what it uses. */
export interface PriceSettings {
  currencyLabel: string;
  /** Of the table that the overrides and the list make. */
  priceVersion: string;
  overrides: PriceOverride[];
}

export interface PriceSettingsChange {
  currencyLabel?: string | undefined;
  /** Valid ones, as `parsePriceOverrides` gives them; they take the place of all that are there. */
  overrides?: readonly PriceOverride[] | undefined;
}

/** Throws where there is no such workspace. */
export async function readPriceSettings(database: Database, workspaceId: string): Promise<PriceSettings> {
  const currencyLabel = await findCurrencyLabel(database, workspaceId);
  if (currencyLabel === undefined) throw new Error('There is no such workspace');
  const { version: priceVersion } = await readWorkspacePrices(database, workspaceId);
  return { currencyLabel, priceVersion, overrides: await readWorkspaceOverrides(database, workspaceId) };
}

/** Changes what is given, for what is ingested from now on, and returns what then holds. */
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
