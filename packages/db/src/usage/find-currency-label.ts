import type { Database } from '../database/database.ts';
import { eq } from '../drizzle.cjs';
import { workspaces } from '../workspaces/schema.ts';

/** What the workspace calls the currency of its costs; undefined where there is no such workspace. */
export async function findCurrencyLabel(database: Database, workspaceId: string): Promise<string | undefined> {
  const [workspace] = await database
    .select({ currencyLabel: workspaces.currency_label })
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId));
  return workspace?.currencyLabel;
}
