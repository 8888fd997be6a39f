import type { Database } from '../database/database.ts';
import { and, eq, lt, ne } from '../drizzle.cjs';
import { toHiddenWorkspace } from '../planner.ts';
import type { TranscriptRow } from './schema.ts';
import { transcripts } from './schema.ts';

/** Whether a session has transcripts shorter than this one that are not superseded, or not yet. */
export async function hasShorterVersions(
  database: Database,
  { workspace_id, session_id, size_bytes }: Pick<TranscriptRow, 'workspace_id' | 'session_id' | 'size_bytes'>,
): Promise<boolean> {
  const found = await database
    .select({ id: transcripts.id })
    .from(transcripts)
    .where(
      and(
        eq(transcripts.workspace_id, toHiddenWorkspace(workspace_id)),
        eq(transcripts.session_id, session_id),
        lt(transcripts.size_bytes, size_bytes),
        ne(transcripts.status, 'superseded'),
      ),
    )
    .limit(1);
  return found.length > 0;
}
