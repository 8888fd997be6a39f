import type { Database } from '../database/database.ts';
import { and, eq } from '../drizzle.cjs';
import { toHiddenWorkspace } from '../planner.ts';
import type { TranscriptRow } from './schema.ts';
import { transcripts } from './schema.ts';

export async function findTranscript(
  database: Database,
  workspaceId: string,
  transcriptId: string,
): Promise<TranscriptRow | undefined> {
  const [row] = await database
    .select()
    .from(transcripts)
    .where(and(eq(transcripts.workspace_id, toHiddenWorkspace(workspaceId)), eq(transcripts.id, transcriptId)));
  return row;
}

/** The transcript whose raw object has that key. Not indexed: for maintenance. */
export async function findTranscriptByObject(
  database: Database,
  workspaceId: string,
  objectKey: string,
): Promise<TranscriptRow | undefined> {
  const [row] = await database
    .select()
    .from(transcripts)
    .where(and(eq(transcripts.workspace_id, toHiddenWorkspace(workspaceId)), eq(transcripts.object_key, objectKey)));
  return row;
}
