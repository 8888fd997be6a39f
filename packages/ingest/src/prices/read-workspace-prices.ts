import { type Database, listPriceOverrides } from '@recount/db';
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
export async function readWorkspaceOverrides(database: Database, workspaceId: string): Promise<PriceOverride[]> {
  const { parsePriceOverrides } = await import('@recount/prices');
  const parsed = parsePriceOverrides(await listPriceOverrides(database, workspaceId));
  if ('issues' in parsed) throw new Error(`The workspace's rates are not valid: ${parsed.issues[0]?.message}`);
  return parsed.overrides;
}
