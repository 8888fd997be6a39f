import type { Database } from '../database.ts';
import { sql } from '../drizzle.cjs';

/**
 * Lets the rest of the transaction look rows up one by one. All that an ingestion reads it reads by key; while tables are
 * being filled, statistics of them are old, and the planner would read whole tables that it takes for nearly empty.
 */
export async function preferIndexes(transaction: Database): Promise<void> {
  await transaction.execute(sql`
    SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) AS name`);
}
