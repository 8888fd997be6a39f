import type { Database } from '../database/database.ts';
import { and, eq, isNull, or } from '../drizzle.cjs';
import type { TranscriptRow } from './schema.ts';
import { transcripts } from './schema.ts';

/**
 * Lets a transcript name another object with the bytes that were uploaded. Returns false where it names another one by
 * now, or retention has deleted its object and no rows are to be made of it.
 */
export async function replaceRawObject(
  database: Database,
  transcript: Pick<TranscriptRow, 'workspace_id' | 'id' | 'object_key'>,
  objectKey: string,
): Promise<boolean> {
  const replaced = await database
    .update(transcripts)
    .set({ object_key: objectKey, stored_sha256: null, raw_deleted_at: null, raw_damaged_at: null })
    .where(
      and(
        eq(transcripts.workspace_id, transcript.workspace_id),
        eq(transcripts.id, transcript.id),
        eq(transcripts.object_key, transcript.object_key),
        or(isNull(transcripts.raw_deleted_at), eq(transcripts.status, 'failed')),
      ),
    )
    .returning({ id: transcripts.id });
  return replaced.length > 0;
}
