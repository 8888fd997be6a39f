import type { Database } from '../database.ts';
import { getTableColumns, type SQL, sql } from '../drizzle.cjs';
import { transcriptMessages } from '../schema/messages.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { messageRollup } from '../schema/usage.ts';
import { BUCKET_START } from './write-usage-rollups.ts';

/** Counts the messages of a session's primary transcript anew; where retention took them away, what was counted stays. */
export async function writeMessageRollup(transaction: Database, workspaceId: string, sessionId: string): Promise<void> {
  const { rows } = await transaction.execute<{ has_expired: boolean }>(sql`
    SELECT ${HAS_EXPIRED} AS has_expired FROM ${sessions} AS s
    WHERE s.workspace_id = ${workspaceId} AND s.session_id = ${sessionId}`);
  if (rows[0]?.has_expired) return;
  await transaction.execute(
    sql`DELETE FROM ${messageRollup} WHERE workspace_id = ${workspaceId} AND session_id = ${sessionId}`,
  );
  const columns = sql.raw(Object.keys(getTableColumns(messageRollup)).join(', '));
  await transaction.execute(sql`
    INSERT INTO ${messageRollup} (${columns})
    SELECT ${columns} FROM (${selectMessageRollup(workspaceId, sessionId)}) AS rolled_up`);
}

/** Of the session `s`: its messages are gone, its roll-up is all that tells of them. */
const HAS_EXPIRED = sql`EXISTS (
  SELECT FROM ${transcripts} AS t
  WHERE t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id AND t.rows_deleted_at IS NOT NULL)`;

/** Rows of message_rollup by their definition: of one session, or of all. */
export function selectMessageRollup(workspaceId: string, sessionId?: string): SQL {
  return sql`
    SELECT s.workspace_id, s.session_id, ${BUCKET_START} AS bucket_start, m.model,
      s.is_subagent OR m.is_sidechain AS is_subagent,
      count(*)::int AS messages, count(*) FILTER (WHERE m.message_type = 'user')::int AS user_messages
    FROM ${sessions} AS s
    JOIN ${transcriptMessages} AS m ON m.workspace_id = s.workspace_id AND m.transcript_id = s.primary_transcript_id
    WHERE s.workspace_id = ${workspaceId} AND ${sessionId === undefined ? sql`true` : sql`s.session_id = ${sessionId}`}
    GROUP BY s.workspace_id, s.session_id, 3, m.model, 5
    UNION ALL
    SELECT r.workspace_id, r.session_id, r.bucket_start, r.model, r.is_subagent, r.messages, r.user_messages
    FROM ${messageRollup} AS r
    JOIN ${sessions} AS s ON s.workspace_id = r.workspace_id AND s.session_id = r.session_id
    WHERE r.workspace_id = ${workspaceId} AND ${sessionId === undefined ? sql`true` : sql`r.session_id = ${sessionId}`}
      AND ${HAS_EXPIRED}`;
}
