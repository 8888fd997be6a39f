import type { Database } from '../database/database.ts';
import { and, eq, inArray } from '../drizzle.cjs';
import { toHiddenWorkspace } from '../planner.ts';
import type { TranscriptRow } from './schema.ts';
import { transcripts } from './schema.ts';

export type TranscriptState = Pick<TranscriptRow, 'id' | 'session_id' | 'status' | 'failure_reason' | 'raw_damaged_at'>;

/** Where a workspace's transcripts stand, in any order; those that are gone are left out. */
export async function listTranscriptStates(
  database: Database,
  workspaceId: string,
  ids: readonly string[],
): Promise<TranscriptState[]> {
  const { id, session_id, status, failure_reason, raw_damaged_at } = transcripts;
  return await database
    .select({ id, session_id, status, failure_reason, raw_damaged_at })
    .from(transcripts)
    .where(and(eq(transcripts.workspace_id, toHiddenWorkspace(workspaceId)), inArray(transcripts.id, [...ids])));
}
