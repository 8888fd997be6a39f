import type { Database } from '../database/database.ts';
import { and, eq, inArray } from '../drizzle.cjs';
import { toHiddenWorkspace } from '../planner.ts';
import { type TranscriptStatus, transcripts } from './schema.ts';

interface StatusChange {
  status: TranscriptStatus;
  failure_reason?: string | null;
  attempt_count?: number;
}

/** Sets the status of transcripts, where `from` is given only of those that have one of these; returns how many. */
export async function setTranscriptStatus(
  database: Database,
  workspaceId: string,
  transcriptIds: readonly string[],
  change: StatusChange,
  from?: readonly TranscriptStatus[],
): Promise<number> {
  if (transcriptIds.length === 0) return 0;
  const changed = await database
    .update(transcripts)
    .set(change)
    .where(
      and(
        eq(transcripts.workspace_id, toHiddenWorkspace(workspaceId)),
        inArray(transcripts.id, [...transcriptIds]),
        from === undefined ? undefined : inArray(transcripts.status, [...from]),
      ),
    )
    .returning({ id: transcripts.id });
  return changed.length;
}
