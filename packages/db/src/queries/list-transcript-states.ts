import type { Database } from '../database.ts';
import { and, eq, inArray } from '../drizzle.cjs';
import { transcripts } from '../schema/transcripts.ts';
import { toHiddenWorkspace } from '../writes/in-workspace.ts';
import type { TranscriptRow } from '../writes/insert-transcripts.ts';

export type TranscriptState = Pick<TranscriptRow, 'id' | 'session_id' | 'status' | 'failure_reason'>;

/** Where a workspace's transcripts stand, in any order; those that are gone are left out. */
export async function listTranscriptStates(
  database: Database,
  workspaceId: string,
  ids: readonly string[],
): Promise<TranscriptState[]> {
  const { id, session_id, status, failure_reason } = transcripts;
  return await database
    .select({ id, session_id, status, failure_reason })
    .from(transcripts)
    .where(and(eq(transcripts.workspace_id, toHiddenWorkspace(workspaceId)), inArray(transcripts.id, [...ids])));
}
