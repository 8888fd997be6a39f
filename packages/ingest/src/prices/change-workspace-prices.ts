import { type Actor, type Database, type DatabasePool, findCurrencyLabel, replaceWorkspacePrices } from '@recount/db';
import type { PriceOverride } from '@recount/prices';
import { readWorkspaceOverrides, readWorkspacePrices } from './read-workspace-prices.ts';

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
