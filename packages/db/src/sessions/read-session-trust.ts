import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { sessions, transcripts } from '../transcripts/schema.ts';
import { usageEntries, usageLedger } from '../usage/schema.ts';

/** Who brought what a session is made of, and what about it others contest. */
export interface SessionTrust {
  /** Of all its transcripts, superseded ones included; null stands for unknown ones. In the order of their first upload. */
  uploader_key_ids: (string | null)[];
  /** Responses that it holds and whose copies disagree. */
  disagreeing_response_count: number;
  /** Sub-agents that say they are this session's, and that another uploader brought than the session. */
  other_uploader_subagent_count: number;
}

export async function readSessionTrust(
  database: Database,
  workspaceId: string,
  sessionId: string,
): Promise<SessionTrust> {
  const { rows } = await database.execute<SessionTrust & Record<string, unknown>>(sql`
    SELECT
      ARRAY(
        SELECT uploader_key_id FROM ${transcripts}
        WHERE workspace_id = ${workspaceId} AND session_id = ${sessionId}
        GROUP BY uploader_key_id ORDER BY min(id)
      ) AS uploader_key_ids,
      (
        SELECT count(DISTINCT (e.agent, e.response_key))::int
        FROM ${transcripts} AS t
        JOIN ${usageEntries} AS e ON e.workspace_id = t.workspace_id AND e.row_set_id = t.row_set_id
        JOIN ${usageLedger} AS l
          ON l.workspace_id = e.workspace_id AND l.agent = e.agent AND l.response_key = e.response_key
          AND l.disagreements IS NOT NULL
        WHERE t.workspace_id = ${workspaceId} AND t.session_id = ${sessionId}
      ) AS disagreeing_response_count,
      (
        SELECT count(*)::int
        FROM ${sessions} AS s
        JOIN ${sessions} AS c ON c.workspace_id = s.workspace_id AND c.parent_session_id = s.session_id
        WHERE s.workspace_id = ${workspaceId} AND s.session_id = ${sessionId}
          AND c.uploader_key_id <> s.uploader_key_id
      ) AS other_uploader_subagent_count`);
  const [row] = rows;
  if (row === undefined) throw new Error('An aggregate without a row');
  return row;
}
