import {
  type Actor,
  type Database,
  type DatabasePool,
  findCurrencyLabel,
  listPriceOverrides,
  type ModelComparison,
  type ReportFilter,
  readUnpricedTerms,
  replaceWorkspacePrices,
  type UnpricedTerms,
} from '@recount/db';
import type { ModelPriceTable, PriceFile, PriceOverride } from '@recount/prices';

/** Loaded on first use, because the list takes 6 MB. Shared by all workspaces, so that each model is resolved once. */
let shared: { file: PriceFile | undefined; prices: ModelPriceTable } | undefined;

/**
 * The price table (the list, preceded by a price file, preceded by the workspace's own rates). Throws if a stored rate
 * is invalid.
 */
export async function readWorkspacePrices(
  database: Database,
  workspaceId: string,
  file?: PriceFile | undefined,
): Promise<ModelPriceTable> {
  const overrides = await readWorkspaceOverrides(database, workspaceId);
  const { createPriceTable } = await import('@recount/prices');
  if (overrides.length > 0) return createPriceTable({ overrides, file });
  if (shared === undefined || shared.file !== file) shared = { file, prices: createPriceTable({ overrides, file }) };
  return shared.prices;
}

/** The workspace's own rates. Throws if a stored rate is invalid. */
async function readWorkspaceOverrides(database: Database, workspaceId: string): Promise<PriceOverride[]> {
  const { parsePriceOverrides } = await import('@recount/prices');
  const parsed = parsePriceOverrides(await listPriceOverrides(database, workspaceId));
  if ('issues' in parsed) throw new Error(`The workspace's rates are not valid: ${parsed.issues[0]?.message}`);
  return parsed.overrides;
}

/** Compares the models of a workspace by its prices. */
export async function readModelComparison(
  database: Database,
  workspaceId: string,
  file: PriceFile | undefined,
): Promise<ModelComparison> {
  const { findModelMaker, isLaterGeneration, listKnownModels, listRequestSizes } = await import('@recount/prices');
  const overrides = await readWorkspaceOverrides(database, workspaceId);
  return {
    prices: await readWorkspacePrices(database, workspaceId, file),
    requestSizes: listRequestSizes(overrides),
    isComparable: (model, other) =>
      findModelMaker(model) !== undefined && findModelMaker(model) === findModelMaker(other),
    knownModels: listKnownModels().map(({ model }) => model),
    isLaterGeneration,
  };
}

/**
 * The part of a report's caveats that is about prices. It names the models whose responses have none, those that have
 * no price at all, and the tiers and speeds where the others have none.
 */
export async function readPriceCaveats(
  database: Database,
  filter: ReportFilter,
  unpricedModels: readonly string[],
  file: PriceFile | undefined,
): Promise<{ models: string[]; terms: UnpricedTerms[]; priceDate: string }> {
  const prices = await readWorkspacePrices(database, filter.workspaceId, file);
  const { without = [], priced = [] } = Object.groupBy(unpricedModels, (model) =>
    prices.describeRates(model, filter.to ?? null) === null ? 'without' : 'priced',
  );
  const terms = priced.length === 0 ? [] : await readUnpricedTerms(database, filter, priced);
  return { models: without, terms, priceDate: prices.date };
}

/** A workspace's prices. */
export interface PriceSettings {
  currencyLabel: string;
  /** Version of the table made of the overrides, the price file and the list. */
  priceVersion: string;
  /** Date of the newest list, ISO 8601. */
  priceDate: string;
  overrides: PriceOverride[];
}

export interface PriceSettingsChange {
  currencyLabel?: string | undefined;
  /** Valid ones, as `parsePriceOverrides` returns them; they replace all existing ones. */
  overrides?: readonly PriceOverride[] | undefined;
}

/** Throws if there is no such workspace. */
export async function readPriceSettings(
  database: Database,
  workspaceId: string,
  file: PriceFile | undefined,
): Promise<PriceSettings> {
  const currencyLabel = await findCurrencyLabel(database, workspaceId);
  if (currencyLabel === undefined) throw new Error('There is no such workspace');
  const { version: priceVersion, date: priceDate } = await readWorkspacePrices(database, workspaceId, file);
  return { currencyLabel, priceVersion, priceDate, overrides: await readWorkspaceOverrides(database, workspaceId) };
}

/** Changes the given settings for future ingestions and returns the resulting ones. */
export async function changePriceSettings(
  { database }: { database: Pick<DatabasePool, 'withTransaction'> },
  workspaceId: string,
  { currencyLabel, overrides }: PriceSettingsChange,
  actor: Actor = 'system',
  file?: PriceFile | undefined,
): Promise<PriceSettings> {
  return await database.withTransaction(async (transaction) => {
    const rows = overrides?.map(({ model, startsAt, longContext, ...rates }) => ({
      model,
      startsAt,
      rates: { ...rates, ...(longContext !== undefined && { longContext: { ...longContext } }) },
    }));
    await replaceWorkspacePrices(transaction, workspaceId, { currencyLabel, overrides: rows }, actor);
    return await readPriceSettings(transaction, workspaceId, file);
  });
}
