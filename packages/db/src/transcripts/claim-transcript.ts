import type { Database } from '../database/database.ts';
import { and, eq, inArray, sql } from '../drizzle.cjs';
import { toHiddenWorkspace } from '../planner.ts';
import type { TranscriptRow } from './schema.ts';
import { transcripts } from './schema.ts';

/** Marks a transcript as being processed and counts the attempt; undefined where there is nothing (more) to do. */
export async function claimTranscript(
  database: Database,
  workspaceId: string,
  transcriptId: string,
): Promise<TranscriptRow | undefined> {
  const [claimed] = await database
    .update(transcripts)
    .set({ status: 'processing', attempt_count: sql`${transcripts.attempt_count} + 1` })
    .where(
      and(
        eq(transcripts.workspace_id, toHiddenWorkspace(workspaceId)),
        eq(transcripts.id, transcriptId),
        inArray(transcripts.status, ['queued', 'processing']),
      ),
    )
    .returning();
  return claimed;
}
