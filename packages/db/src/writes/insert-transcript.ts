import type { Database } from '../database.ts';
import { and, eq } from '../drizzle.cjs';
import { transcripts } from '../schema/transcripts.ts';

export type TranscriptRow = typeof transcripts.$inferSelect;
export type NewTranscript = Pick<
  typeof transcripts.$inferInsert,
  | 'workspace_id'
  | 'id'
  | 'session_id'
  | 'agent'
  | 'format'
  | 'path'
  | 'is_subagent'
  | 'parent_session_id'
  | 'agent_id'
  | 'sha256'
  | 'size_bytes'
  | 'object_key'
>;

/**
 * Inserts a transcript unless its session has the same bytes already; returns the row that is there now. Safe against
 * concurrent uploads: the unique constraint decides.
 */
export async function insertTranscript(
  database: Database,
  transcript: NewTranscript,
): Promise<{ row: TranscriptRow; isDuplicate: boolean }> {
  const [inserted] = await database.insert(transcripts).values(transcript).onConflictDoNothing().returning();
  if (inserted !== undefined) return { row: inserted, isDuplicate: false };
  const [existing] = await database
    .select()
    .from(transcripts)
    .where(
      and(
        eq(transcripts.workspace_id, transcript.workspace_id),
        eq(transcripts.session_id, transcript.session_id),
        eq(transcripts.sha256, transcript.sha256),
      ),
    );
  // Deleted between the two statements: the caller's retry will insert it.
  if (existing === undefined) throw new Error('The transcript was deleted while it was uploaded again');
  return { row: existing, isDuplicate: true };
}
