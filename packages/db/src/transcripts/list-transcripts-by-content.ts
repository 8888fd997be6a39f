import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { and, eq, type SQL, sql } from '../drizzle.cjs';
import { type TranscriptRow, transcripts } from '../schema/transcripts.ts';
import type { TranscriptState } from './read-transcripts.ts';

/** Bytes as a session's transcript, because a session has the same bytes only once. */
export interface TranscriptContent {
  sessionId: string;
  sha256: string;
}

/** For each of the contents, in order, the workspace's transcript with it. */
export async function listTranscriptsByContent(
  database: Database,
  workspaceId: string,
  contents: readonly TranscriptContent[],
): Promise<(TranscriptRow | undefined)[]> {
  const rows = await database.select().from(transcripts).where(isContent(workspaceId, contents));
  return inOrder(rows, contents);
}

/** Like `listTranscriptsByContent`, with the states of the transcripts. */
export async function listStatesByContent(
  database: Database,
  workspaceId: string,
  contents: readonly TranscriptContent[],
): Promise<(TranscriptState | undefined)[]> {
  const { id, session_id, sha256, status, failure_reason, raw_damaged_at } = transcripts;
  const rows = await database
    .select({ id, session_id, sha256, status, failure_reason, raw_damaged_at })
    .from(transcripts)
    .where(isContent(workspaceId, contents));
  return inOrder(rows, contents);
}

function isContent(workspaceId: string, contents: readonly TranscriptContent[]): SQL | undefined {
  const sessionIds = sql.param(contents.map(({ sessionId }) => sessionId));
  const hashes = sql.param(contents.map(({ sha256 }) => sha256));
  return and(
    eq(transcripts.workspace_id, opaqueWorkspaceId(workspaceId)),
    sql`(${transcripts.session_id}, ${transcripts.sha256}) IN (
      SELECT * FROM unnest(${sessionIds}::text[], ${hashes}::text[]))`,
  );
}

function inOrder<Row extends Pick<TranscriptRow, 'session_id' | 'sha256'>>(
  rows: readonly Row[],
  contents: readonly TranscriptContent[],
): (Row | undefined)[] {
  const byContent = new Map(rows.map((row) => [`${row.sha256} ${row.session_id}`, row]));
  return contents.map(({ sessionId, sha256 }) => byContent.get(`${sha256} ${sessionId.toWellFormed()}`));
}
