import type { Database } from '../database.ts';
import { getTableColumns, type SQL, sql } from '../drizzle.cjs';
import { transcriptMessages } from '../schema/messages.ts';
import { sessions } from '../schema/transcripts.ts';
import { messageRollup } from '../schema/usage.ts';
import { BUCKET_START } from './write-usage-rollups.ts';

/** Counts the messages of a session's primary transcript anew. */
export async function writeMessageRollup(transaction: Database, workspaceId: string, sessionId: string): Promise<void> {
  await transaction.execute(
    sql`DELETE FROM ${messageRollup} WHERE workspace_id = ${workspaceId} AND session_id = ${sessionId}`,
  );
  const columns = sql.raw(Object.keys(getTableColumns(messageRollup)).join(', '));
  await transaction.execute(sql`
    INSERT INTO ${messageRollup} (${columns})
    SELECT ${columns} FROM (${selectMessageRollup(workspaceId, sessionId)}) AS rolled_up`);
}

/** Rows of message_rollup by their definition: of one session, or of all. */
export function selectMessageRollup(workspaceId: string, sessionId?: string): SQL {
  return sql`
    SELECT s.workspace_id, s.session_id, ${BUCKET_START} AS bucket_start, m.model,
      s.is_subagent OR m.is_sidechain AS is_subagent,
      count(*)::int AS messages, count(*) FILTER (WHERE m.message_type = 'user')::int AS user_messages
    FROM ${sessions} AS s
    JOIN ${transcriptMessages} AS m ON m.workspace_id = s.workspace_id AND m.transcript_id = s.primary_transcript_id
    WHERE s.workspace_id = ${workspaceId} AND ${sessionId === undefined ? sql`true` : sql`s.session_id = ${sessionId}`}
    GROUP BY s.workspace_id, s.session_id, 3, m.model, 5`;
}
