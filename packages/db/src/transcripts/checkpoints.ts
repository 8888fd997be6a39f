import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Database } from '../database/database.ts';
import { and, eq } from '../drizzle.cjs';
import { transcriptCheckpoints } from '../schema/transcripts.ts';
import type { RowSetKey } from './transcript-rows.ts';
import type { WrittenCheckpoint } from './transcript-writer.ts';

export type CheckpointRow = typeof transcriptCheckpoints.$inferSelect;

/** The place where parsing of a row set can continue, with its decompressed state; undefined if it cannot. */
export async function findCheckpoint(
  database: Database,
  { workspaceId, rowSetId }: RowSetKey,
): Promise<CheckpointRow | undefined> {
  const [row] = await database
    .select()
    .from(transcriptCheckpoints)
    .where(and(eq(transcriptCheckpoints.workspace_id, workspaceId), eq(transcriptCheckpoints.row_set_id, rowSetId)));
  const state = row && decompress(row.state);
  if (row === undefined || state === undefined) return undefined;
  return { ...row, state, derived_state: row.derived_state && (decompress(row.derived_state) ?? null) };
}

/** Faster than Postgres' own compression, which then finds nothing left to compress. */
const compress = (state: Uint8Array): Uint8Array =>
  zstdCompressSync(state, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });

function decompress(state: Uint8Array): Uint8Array | undefined {
  try {
    return zstdDecompressSync(state);
  } catch {
    // Earlier versions of recount did not compress it.
    return undefined;
  }
}

/** Deletes the checkpoint of a row set, before rows that were added to it make it stale. */
export async function deleteCheckpoint(transaction: Database, { workspaceId, rowSetId }: RowSetKey): Promise<void> {
  const { workspace_id, row_set_id } = transcriptCheckpoints;
  await transaction.delete(transcriptCheckpoints).where(and(eq(workspace_id, workspaceId), eq(row_set_id, rowSetId)));
}

/** The row of the checkpoint of a parse of the first `byteOffset` bytes. */
export const toCheckpointRow = (
  { workspaceId, rowSetId }: RowSetKey,
  byteOffset: number,
  { state, numbers }: WrittenCheckpoint,
  derivedState?: Uint8Array,
): typeof transcriptCheckpoints.$inferInsert => ({
  workspace_id: workspaceId,
  row_set_id: rowSetId,
  byte_offset: byteOffset,
  entry_number: numbers.entry,
  call_number: numbers.call,
  event_number: numbers.event,
  issue_number: numbers.issue,
  state: compress(state),
  derived_state: derivedState && compress(derivedState),
});
