import type { Database } from '../database.ts';
import { and, eq } from '../drizzle.cjs';
import type { RowSetKey } from '../rows/transcript-rows.ts';
import { transcriptCheckpoints } from '../schema/checkpoints.ts';

export type CheckpointRow = typeof transcriptCheckpoints.$inferSelect;

/** Where the parse of a row set can go on; undefined where it cannot. */
export async function findCheckpoint(
  database: Database,
  { workspaceId, rowSetId }: RowSetKey,
): Promise<CheckpointRow | undefined> {
  const [row] = await database
    .select()
    .from(transcriptCheckpoints)
    .where(and(eq(transcriptCheckpoints.workspace_id, workspaceId), eq(transcriptCheckpoints.row_set_id, rowSetId)));
  return row;
}
