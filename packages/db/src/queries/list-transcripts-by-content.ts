import type { Database } from '../database.ts';
import { and, eq, sql } from '../drizzle.cjs';
import { transcripts } from '../schema/transcripts.ts';
import { toHiddenWorkspace } from '../writes/in-workspace.ts';
import type { TranscriptRow } from '../writes/insert-transcripts.ts';

/** Bytes as a session's transcript: a session has the same ones once. */
export interface TranscriptContent {
  sessionId: string;
  sha256: string;
}

/** For each of some contents, in order: the transcript that a workspace has of it. */
export async function listTranscriptsByContent(
  database: Database,
  workspaceId: string,
  contents: readonly TranscriptContent[],
): Promise<(TranscriptRow | undefined)[]> {
  const sessionIds = sql.param(contents.map(({ sessionId }) => sessionId));
  const hashes = sql.param(contents.map(({ sha256 }) => sha256));
  const rows = await database
    .select()
    .from(transcripts)
    .where(
      and(
        eq(transcripts.workspace_id, toHiddenWorkspace(workspaceId)),
        sql`(${transcripts.session_id}, ${transcripts.sha256}) IN (
          SELECT * FROM unnest(${sessionIds}::text[], ${hashes}::text[]))`,
      ),
    );
  const byContent = new Map(rows.map((row) => [`${row.sha256} ${row.session_id}`, row]));
  return contents.map(({ sessionId, sha256 }) => byContent.get(`${sha256} ${sessionId.toWellFormed()}`));
}
