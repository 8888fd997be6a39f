import { zstdDecompressSync } from 'node:zlib';
import type { Database } from '../database/database.ts';
import { and, eq } from '../drizzle.cjs';
import { transcriptCheckpoints } from './checkpoints-schema.ts';
import type { RowSetKey } from './transcript-rows.ts';

export type CheckpointRow = typeof transcriptCheckpoints.$inferSelect;

/** Where the parse of a row set can go on, its state uncompressed; undefined where it cannot. */
export async function findCheckpoint(
  database: Database,
  { workspaceId, rowSetId }: RowSetKey,
): Promise<CheckpointRow | undefined> {
  const [row] = await database
    .select()
    .from(transcriptCheckpoints)
    .where(and(eq(transcriptCheckpoints.workspace_id, workspaceId), eq(transcriptCheckpoints.row_set_id, rowSetId)));
  const state = row && decompress(row.state);
  return row && state && { ...row, state };
}

function decompress(state: Uint8Array): Uint8Array | undefined {
  try {
    return zstdDecompressSync(state);
  } catch {
    // Earlier versions of recount did not compress it.
    return undefined;
  }
}
