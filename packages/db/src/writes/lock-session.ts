import type { Database } from '../database.ts';
import { sql } from '../drizzle.cjs';

/**
 * Waits for the session's lock and holds it until the transaction ends: whoever writes or deletes rows of a session
 * holds it, so that its versions are compared and replaced one at a time.
 */
export async function lockSession(transaction: Database, workspaceId: string, sessionId: string): Promise<void> {
  await transaction.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`${workspaceId}/${sessionId}`}, 0))`);
}
