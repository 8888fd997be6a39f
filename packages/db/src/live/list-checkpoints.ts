import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { transcriptMessages } from '../messages/schema.ts';
import { sessions, transcripts } from '../transcripts/schema.ts';
import type { LiveSessionKey } from './find-live-session.ts';

/**
 * The newest points that a session can be rewound to, the oldest first: uuids of the messages of its primary transcript
 * by which the user spoke to the agent itself. One that comes again keeps its place.
 */
export async function listCheckpoints(
  database: Database,
  { workspaceId, sessionId }: LiveSessionKey,
  limit: number,
): Promise<string[]> {
  const { rows } = await database.execute<{ uuid: string }>(sql`
    SELECT m.uuid
    FROM ${sessions} AS s
    JOIN ${transcripts} AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id
    JOIN ${transcriptMessages} AS m ON m.workspace_id = t.workspace_id AND m.row_set_id = t.row_set_id
    WHERE s.workspace_id = ${workspaceId} AND s.session_id = ${sessionId}
      AND m.message_type = 'user' AND m.uuid IS NOT NULL AND m.has_text AND NOT m.is_sidechain
      AND NOT (m.metadata @> '{"isMeta": true}' OR m.metadata @> '{"isCompactSummary": true}')
    GROUP BY m.uuid
    ORDER BY min(m.id) DESC
    LIMIT ${limit}`);
  return rows.map(({ uuid }) => uuid).reverse();
}
