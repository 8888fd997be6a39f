import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { sessions, transcripts } from '../schema/transcripts.ts';

export interface ExpiredTranscript {
  id: string;
  sessionId: string;
  objectKey: string;
  sizeBytes: number;
}

/**
 * Last activity of the transcript `t` is never later than its upload, because other machines' clocks may be ahead. A
 * session has its primary transcript's.
 */
export const LAST_ACTIVITY = sql.raw('least(coalesce(t.last_timestamp, t.created_at), t.created_at)');

/** Nothing is processing it. */
export const IS_SETTLED = sql.raw(`t.status IN ('ingested', 'superseded', 'failed')`);

/** Condition on a session `s` whose last activity is before that time (ISO 8601)and that still has messages. */
export function isExpiredSession(before: string): SQL {
  return sql`
    EXISTS (
      SELECT FROM ${transcripts} AS t
      WHERE t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id AND ${LAST_ACTIVITY} < ${before}
    ) AND EXISTS (
      SELECT FROM ${transcripts} AS t
      WHERE t.workspace_id = s.workspace_id AND t.session_id = s.session_id
        AND t.ingested_at IS NOT NULL AND t.rows_deleted_at IS NULL
    )`;
}

/** Ids of sessions whose messages have expired, at most `limit` after `afterId`. */
export async function listExpiredSessions(
  database: Database,
  workspaceId: string,
  before: string,
  page: { afterId?: string | undefined; limit: number },
): Promise<string[]> {
  const { rows } = await database.execute<{ session_id: string }>(sql`
    SELECT s.session_id FROM ${sessions} AS s
    WHERE s.workspace_id = ${workspaceId} AND s.session_id > ${page.afterId ?? ''} AND ${isExpiredSession(before)}
    ORDER BY s.session_id LIMIT ${page.limit}`);
  return rows.map(({ session_id }) => session_id);
}

/** Transcripts whose raw object has expired, at most `limit` after `afterId`. */
export async function listExpiredRawObjects(
  database: Database,
  workspaceId: string,
  before: string,
  page: { afterId?: string | undefined; limit: number },
): Promise<ExpiredTranscript[]> {
  const { rows } = await database.execute<ExpiredTranscript & Record<string, unknown>>(sql`
    SELECT t.id, t.session_id AS "sessionId", t.object_key AS "objectKey", t.size_bytes::float8 AS "sizeBytes"
    FROM ${transcripts} AS t
    WHERE t.workspace_id = ${workspaceId} AND t.id > ${page.afterId ?? ''}
      AND t.raw_deleted_at IS NULL AND ${IS_SETTLED} AND ${LAST_ACTIVITY} < ${before}
    ORDER BY t.id LIMIT ${page.limit}`);
  return rows;
}
