import type { Database } from '../database/database.ts';
import { and, asc, countDistinct, desc, eq, sql } from '../drizzle.cjs';
import { ingestIssues } from '../schema/messages.ts';
import { transcripts } from '../schema/transcripts.ts';

/** A type of lines, blocks or usage that recount does not read or does not know, of one version of an agent. */
export interface Notice {
  agent: string;
  /** As the transcripts name it; null if they do not. */
  agentVersion: string | null;
  code: string;
  /** For people; names the type. */
  message: string;
  transcriptCount: number;
  /** In all the transcripts. */
  occurrenceCount: number;
}

/**
 * The notices of a workspace's transcripts, once for each text and version of an agent; the most frequent first, at
 * most `limit`. Reads all issues.
 */
export async function listNotices(database: Database, workspaceId: string, limit: number): Promise<Notice[]> {
  const { agent, agent_version: agentVersion } = transcripts;
  const { code, message, occurrence_count } = ingestIssues;
  const occurrenceCount = sql<number>`sum(${occurrence_count})::float8`;
  return await database
    .select({ agent, agentVersion, code, message, transcriptCount: countDistinct(transcripts.id), occurrenceCount })
    .from(ingestIssues)
    .innerJoin(
      transcripts,
      and(eq(transcripts.workspace_id, ingestIssues.workspace_id), eq(transcripts.row_set_id, ingestIssues.row_set_id)),
    )
    .where(
      and(
        eq(ingestIssues.workspace_id, workspaceId),
        eq(transcripts.workspace_id, workspaceId),
        eq(ingestIssues.severity, 'notice'),
      ),
    )
    .groupBy(agent, agentVersion, code, message)
    .orderBy(desc(occurrenceCount), asc(agent), asc(agentVersion), asc(message))
    .limit(limit);
}
