import type { JsonObject } from '@recount/core';
import type { Database } from '../database/database.ts';
import { asc, eq } from '../drizzle.cjs';
import { priceOverrides } from './schema.ts';

/** A workspace's own rates, each an object as `parsePriceOverrides` of packages/prices takes it. */
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
