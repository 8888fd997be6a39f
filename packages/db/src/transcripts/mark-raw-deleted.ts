import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { lockSession } from '../sessions/lock-session.ts';
import { IS_SETTLED, LAST_ACTIVITY } from './list-expired.ts';
import { transcripts } from './schema.ts';

/**
 * Marks a transcript whose last activity is before that time as having no raw object any more, and returns the object's
 * key for the caller to record as to be deleted. Undefined where it is in use, younger, or marked already.
 * Fails with SQLSTATE 55P03 where the session is busy for 5 s.
 */
export async function markRawDeleted(
  transaction: Database,
  { workspaceId, sessionId, transcriptId }: { workspaceId: string; sessionId: string; transcriptId: string },
  before: string,
): Promise<string | undefined> {
  await transaction.execute(sql`SET LOCAL lock_timeout = '5s'`);
  await lockSession(transaction, workspaceId, sessionId);
  const { rows } = await transaction.execute<{ object_key: string }>(sql`
    UPDATE ${transcripts} AS t SET raw_deleted_at = now()
    WHERE t.workspace_id = ${workspaceId} AND t.id = ${transcriptId} AND t.raw_deleted_at IS NULL
      AND ${IS_SETTLED} AND ${LAST_ACTIVITY} < ${before}
    RETURNING t.object_key`);
  return rows[0]?.object_key;
}
