import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { sessions } from '../transcripts/schema.ts';

/** Waits for the rows of sessions, in the order of their ids, and holds them until the transaction ends. */
export async function lockSessionRows(
  transaction: Database,
  workspaceId: string,
  sessionIds: readonly string[],
): Promise<void> {
  await transaction.execute(sql`
    SELECT session_id FROM ${sessions}
    WHERE workspace_id = ${workspaceId} AND session_id = ANY(${sql.param([...sessionIds])}::text[])
    ORDER BY session_id FOR NO KEY UPDATE`);
}
