import type { Database } from '../database/database.ts';
import { and, eq } from '../drizzle.cjs';
import type { TranscriptRow } from './schema.ts';
import { transcripts } from './schema.ts';

/** Lets a transcript name a redacted copy of its bytes, whose SHA-256 (hex) is `storedSha256`. */
export async function nameRedactedObject(
  transaction: Database,
  transcript: Pick<TranscriptRow, 'workspace_id' | 'id'>,
  copy: { objectKey: string; storedSha256: string },
): Promise<void> {
  await transaction
    .update(transcripts)
    .set({ object_key: copy.objectKey, stored_sha256: copy.storedSha256 })
    .where(and(eq(transcripts.workspace_id, transcript.workspace_id), eq(transcripts.id, transcript.id)));
}
