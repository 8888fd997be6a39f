import { createHash } from 'node:crypto';
import { type Database, findTranscript, hasShorterVersions, markRawDamaged, type TranscriptRow } from '@recount/db';
import { type RawStore, RawStoreError } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { requeueWithin } from '../maintain/requeue-transcripts.ts';

/** `unreadable`: the store has it, and fails to give it. */
export type RawObjectState = 'whole' | 'wrong-size' | 'wrong-content' | 'missing' | 'unreadable';

/** What decides whether an object is whole. */
type StoredContent = Pick<TranscriptRow, 'object_key' | 'size_bytes' | 'sha256' | 'stored_sha256'>;

/**
 * Reads a transcript's raw object to its end and compares size and SHA-256 with what was stored. Throws what the store throws
 * when it is asked for the object at all, so that an outage is not taken for a fault of the object.
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
 * Requeues a transcript whose raw object was lost or damaged and is whole now: shorter versions of its session that
 * came meanwhile could not be compared with it, and count beside it. Nothing is done where there are none, or retention has
 * deleted its rows, which are not to come back.
 *
 * The longer one, as the transaction holds its row already: whoever ingests a version of the session locks several rows.
 */
export async function compareVersionsAgain(
  transaction: Database,
  queue: IngestDependencies['queue'],
  { workspace_id: workspaceId, id: transcriptId }: Pick<TranscriptRow, 'workspace_id' | 'id'>,
): Promise<void> {
  const transcript = await findTranscript(transaction, workspaceId, transcriptId);
  if (transcript?.status !== 'ingested' || transcript.rows_deleted_at !== null) return;
  if (!(await hasShorterVersions(transaction, transcript))) return;
  await requeueWithin(transaction, queue, { workspaceId, transcriptId }, ['ingested']);
}

/** Notes that a transcript's raw object, which was lost or damaged, is there again as it was stored. */
export async function markRawWhole(
  deps: Pick<IngestDependencies, 'database' | 'queue'>,
  row: Pick<TranscriptRow, 'workspace_id' | 'id' | 'object_key'>,
): Promise<void> {
  await deps.database.withTransaction(async (transaction) => {
    await markRawDamaged(transaction, row, false);
    await compareVersionsAgain(transaction, deps.queue, row);
  });
}
