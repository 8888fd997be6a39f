import type { Database } from '../database.ts';
import { sql } from '../drizzle.cjs';

/**
 * Until the transaction ends, statements are planned whatever the values of their parameters. Of a workspace that came
 * after the last ANALYZE the planner would expect no rows, and take any index that begins with the workspace: it then
 * reads all rows of the workspace for each one that it looks up.
 */
export async function planForAnyWorkspace(transaction: Database): Promise<void> {
  await transaction.execute(sql`SET LOCAL plan_cache_mode = force_generic_plan`);
}
