import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { sessions } from '../schema/transcripts.ts';
import { ATTRIBUTION_COLUMNS, type AttributionRow, type Attributions, toAttributions } from '../usage/attribution.ts';

/**
 * Waits for the rows of sessions, in the order of their ids, and locks them until the transaction ends. Returns the
 * attribution of the sessions that have one. Nothing is derived from the others yet.
 */
export async function lockSessionRows(
  transaction: Database,
  workspaceId: string,
  sessionIds: readonly string[],
): Promise<Attributions> {
  const { rows } = await transaction.execute<AttributionRow>(sql`
    SELECT ${ATTRIBUTION_COLUMNS} FROM ${sessions}
    WHERE workspace_id = ${workspaceId} AND session_id = ANY(${sql.param([...sessionIds])}::text[])
    ORDER BY session_id FOR NO KEY UPDATE`);
  return toAttributions(rows);
}
