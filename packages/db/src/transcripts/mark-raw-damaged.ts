import type { Database } from '../database/database.ts';
import { and, eq, sql } from '../drizzle.cjs';
import type { TranscriptRow } from './schema.ts';
import { transcripts } from './schema.ts';

/**
 * Notes that a transcript's raw object is lost or damaged, or that it is whole again. Nothing is done where the transcript
 * names another object by now.
 */
export async function markRawDamaged(
  database: Database,
  { workspace_id, id, object_key }: Pick<TranscriptRow, 'workspace_id' | 'id' | 'object_key'>,
  isDamaged: boolean,
): Promise<void> {
  await database
    .update(transcripts)
    .set({ raw_damaged_at: isDamaged ? sql`coalesce(${transcripts.raw_damaged_at}, now())` : null })
    .where(
      and(eq(transcripts.workspace_id, workspace_id), eq(transcripts.id, id), eq(transcripts.object_key, object_key)),
    );
}
