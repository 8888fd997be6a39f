import type { Database } from '../database/database.ts';
import { and, eq, sql } from '../drizzle.cjs';
import { toHiddenWorkspace } from '../planner.ts';
import { transcripts } from './schema.ts';

/** Keeps the reason of a failed attempt, so that the dead letter can tell it; one that is not counted is taken back. */
export async function recordAttemptFailure(
  database: Database,
  workspaceId: string,
  transcriptId: string,
  { reason, isCounted }: { reason: string; isCounted: boolean },
): Promise<void> {
  await database
    .update(transcripts)
    .set({
      status: 'queued',
      failure_reason: reason,
      ...(!isCounted && { attempt_count: sql`${transcripts.attempt_count} - 1` }),
    })
    .where(
      and(
        eq(transcripts.workspace_id, toHiddenWorkspace(workspaceId)),
        eq(transcripts.id, transcriptId),
        eq(transcripts.status, 'processing'),
      ),
    );
}
