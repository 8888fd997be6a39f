import type { Database } from '../database.ts';
import { and, eq } from '../drizzle.cjs';
import { transcripts } from '../schema/transcripts.ts';
import { toHiddenWorkspace } from './in-workspace.ts';

/** Keeps the reason of a failed attempt, so that the dead letter can tell it. */
export async function recordAttemptFailure(
  database: Database,
  workspaceId: string,
  transcriptId: string,
  reason: string,
): Promise<void> {
  await database
    .update(transcripts)
    .set({ status: 'queued', failure_reason: reason })
    .where(
      and(
        eq(transcripts.workspace_id, toHiddenWorkspace(workspaceId)),
        eq(transcripts.id, transcriptId),
        eq(transcripts.status, 'processing'),
      ),
    );
}
