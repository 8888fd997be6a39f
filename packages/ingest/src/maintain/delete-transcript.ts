import { deleteTranscript as deleteTranscriptRow, findTranscript, recordRawObjectDeletions } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { deleteJobs } from '../queue/index.ts';
import { deleteRecordedObjects } from '../raw-objects/delete-raw-objects.ts';

/**
 * Deletes one transcript: its rows, its job and its raw object, for good. What it had taken from others, credit for responses or
 * the place of its session's primary version, goes back to them. Returns false where there is no such transcript. Fails where
 * its session is busy.
 */
export async function deleteTranscript(
  deps: IngestDependencies,
  workspaceId: string,
  transcriptId: string,
): Promise<boolean> {
  const deleted = await deps.database.withTransaction(async (transaction) => {
    const transcript = await findTranscript(transaction, workspaceId, transcriptId);
    if (transcript === undefined) return undefined;
    const result = await deleteTranscriptRow(transaction, transcript);
    if (result === undefined) return undefined;
    await recordRawObjectDeletions(transaction, workspaceId, [result.objectKey]);
    await deleteJobs(transaction, { workspaceId, transcriptIds: [transcriptId] });
    for (const id of result.queuedIds) await deps.queue.enqueue(transaction, { workspaceId, transcriptId: id });
    return result;
  });
  if (deleted !== undefined) await deleteRecordedObjects(deps, workspaceId, [deleted.objectKey]);
  return deleted !== undefined;
}
