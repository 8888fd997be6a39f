import {
  findAttachmentByObject,
  findLiveStream,
  findTranscript,
  findTranscriptByObject,
  forgetRawObjectDeletions,
  hasWorkspace,
  isRawObjectDeletionRecorded,
  listRawObjectDeletions,
  type RawObjectDeletion,
} from '@recount/db';
import {
  parseAttachmentObjectKey,
  parseRawObjectKey,
  parseRedactedObjectKey,
  parseStreamObjectKey,
  RawStoreError,
  workspacePrefix,
} from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/**
 * Deletes raw objects that a committed transaction has recorded for deletion. If the store is unavailable they stay
 * recorded for `finishDeletions`. What was committed is not undone.
 */
export async function deleteRecordedObjects(
  deps: Deps,
  workspaceId: string,
  objectKeys: readonly string[],
): Promise<void> {
  const deleted: string[] = [];
  try {
    for (const key of objectKeys) {
      await deps.rawStore.delete(key);
      deleted.push(key);
    }
  } catch (error) {
    if (!(error instanceof RawStoreError) || !error.retryable) throw error;
  } finally {
    await forgetRawObjectDeletions(deps.database.database, workspaceId, deleted);
  }
}

/** True if an object without a row was deleted by someone, rather than being a lost upload. */
export async function isToBeDeleted({ database }: Deps, workspaceId: string, key: string): Promise<boolean> {
  return await isRawObjectDeletionRecorded(database.database, workspaceId, [key, workspacePrefix(workspaceId)]);
}

/**
 * Deletes objects that were recorded for deletion before that time (ISO 8601), in one workspace or all, and still
 * exist, because the process that recorded them was killed or could not reach the store. Yields each deletion when it
 * is done. Throws RawStoreError.
 */
export async function* finishDeletions(
  deps: Deps,
  recordedBefore: string,
  { workspaceId: onlyWorkspaceId, signal }: { workspaceId?: string | undefined; signal?: AbortSignal | undefined } = {},
): AsyncGenerator<RawObjectDeletion> {
  const { database } = deps.database;
  for await (const page of listRawObjectDeletions(database, recordedBefore, onlyWorkspaceId)) {
    for (const deletion of page) {
      signal?.throwIfAborted();
      const { workspaceId, objectKey } = deletion;
      if (!(await isNamedAgain(deps, deletion))) await deleteObjects(deps, objectKey);
      await forgetRawObjectDeletions(database, workspaceId, [objectKey]);
      yield deletion;
    }
  }
}

async function deleteObjects({ rawStore }: Deps, objectKey: string): Promise<void> {
  if (objectKey.endsWith('/')) await rawStore.deleteAll(objectKey);
  else await rawStore.delete(objectKey);
}

/** An operation in progress when its session was deleted may have stored the same object again. */
async function isNamedAgain(
  { database: { database } }: Deps,
  { workspaceId, objectKey }: RawObjectDeletion,
): Promise<boolean> {
  if (objectKey.endsWith('/')) return await hasWorkspace(database, workspaceId);
  const stream = parseStreamObjectKey(objectKey);
  if (stream !== undefined) return (await findLiveStream(database, stream))?.object_key === objectKey;
  if (parseAttachmentObjectKey(objectKey) !== undefined)
    return (await findAttachmentByObject(database, workspaceId, objectKey)) !== undefined;
  const ids = parseRawObjectKey(objectKey) ?? parseRedactedObjectKey(objectKey);
  const own = ids && (await findTranscript(database, workspaceId, ids.transcriptId));
  const row = own?.object_key === objectKey ? own : await findTranscriptByObject(database, workspaceId, objectKey);
  return row !== undefined && row.raw_deleted_at === null;
}
