import { type Database, listPriceOverrides } from '@recount/db';
import {
  createListPrices,
  createPriceTable,
  type ModelPriceTable,
  type PriceOverride,
  parsePriceOverrides,
} from '@recount/prices';

const listPrices = createListPrices();

/** The price table with the workspace's own rates before it. Throws where a stored rate is none. */
export async function readWorkspacePrices(database: Database, workspaceId: string): Promise<ModelPriceTable> {
  const overrides = await readWorkspaceOverrides(database, workspaceId);
  return overrides.length === 0 ? listPrices : createPriceTable({ overrides });
}

/** The workspace's own rates. Throws where a stored rate is none. */
export async function readWorkspaceOverrides(database: Database, workspaceId: string): Promise<PriceOverride[]> {
  const parsed = parsePriceOverrides(await listPriceOverrides(database, workspaceId));
  if ('issues' in parsed) throw new Error(`The workspace's rates are not valid: ${parsed.issues[0]?.message}`);
  return parsed.overrides;
}
