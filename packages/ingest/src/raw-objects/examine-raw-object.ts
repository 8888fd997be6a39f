import { createHash } from 'node:crypto';
import { type Database, findTranscript, hasShorterVersions, markRawDamaged, type TranscriptRow } from '@recount/db';
import { type RawStore, RawStoreError } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { requeueWithin } from '../queue/requeue-transcript.ts';

/** `unreadable` means that the store has it, but fails to return it. */
export type RawObjectState = 'whole' | 'wrong-size' | 'wrong-content' | 'missing' | 'unreadable';

/** Determines whether an object is intact. */
type StoredContent = Pick<TranscriptRow, 'object_key' | 'size_bytes' | 'sha256' | 'stored_sha256'>;

/**
 * Reads a transcript's raw object completely and compares its size and SHA-256 with the stored ones. Errors of the
 * store when opening the object are thrown, so that an outage does not count as damage.
 */
export async function examineRawObject(
  rawStore: RawStore,
  row: StoredContent,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<RawObjectState> {
  const object = await rawStore.stat(row.object_key);
  if (object === undefined) return 'missing';
  if (object.sizeBytes !== row.size_bytes) return 'wrong-size';
  try {
    const sha256 = await hashRawObject(rawStore, row.object_key, options);
    return sha256 === (row.stored_sha256 ?? row.sha256) ? 'whole' : 'wrong-content';
  } catch (error) {
    if (!(error instanceof RawStoreError)) throw error;
    return error.code === 'not-found' ? 'missing' : 'unreadable';
  }
}

/** SHA-256 (hex) of an object's bytes. Throws RawStoreError. */
export async function hashRawObject(
  rawStore: RawStore,
  key: string,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of await rawStore.get(key, { signal })) hash.update(chunk);
  return hash.digest('hex');
}

/**
 * Requeues a transcript whose raw object was lost or damaged and is intact now. Shorter versions of its session that
 * came before then could not be compared with it, and count beside it. Does nothing if there are none, or if retention
 * has deleted its rows, which must not come back.
 *
 * It requeues the longer one, whose row the transaction already holds, because ingesting any version of the session
 * locks several rows.
 */
export async function compareVersionsAgain(
  transaction: Database,
  { workspace_id: workspaceId, id: transcriptId }: Pick<TranscriptRow, 'workspace_id' | 'id'>,
): Promise<void> {
  const transcript = await findTranscript(transaction, workspaceId, transcriptId);
  if (transcript?.status !== 'ingested' || transcript.rows_deleted_at !== null) return;
  if (!(await hasShorterVersions(transaction, transcript))) return;
  await requeueWithin(transaction, { workspaceId, transcriptId }, ['ingested']);
}

/** Records that a transcript's raw object, which was lost or damaged, is intact again. */
export async function markRawWhole(
  deps: Pick<IngestDependencies, 'database'>,
  row: Pick<TranscriptRow, 'workspace_id' | 'id' | 'object_key'>,
): Promise<void> {
  await deps.database.withTransaction(async (transaction) => {
    await markRawDamaged(transaction, row, false);
    await compareVersionsAgain(transaction, row);
  });
}
