import {
  type Actor,
  addAuditEntry,
  deleteAttachments,
  deleteJobs,
  deleteLiveSession,
  deleteSession as deleteSessionRows,
  deleteTranscript as deleteTranscriptRow,
  deleteWorkspaceRows,
  enqueueJobs,
  findTranscript,
  forgetWorkspaceDeletions,
  listTranscripts,
  recordRawObjectDeletions,
  removeFromSegments,
} from '@recount/db';
import { rawObjectKey, streamObjectKey, workspacePrefix } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { deleteRecordedObjects } from '../raw-objects/delete-raw-objects.ts';

/**
 * Permanently deletes one transcript, with its rows, its job and its raw object, and with a session's last transcript
 * also the session's attachments. Credit for responses, or the place as the session's primary version, goes back to
 * other transcripts. Returns false if there is no such transcript. Fails if its session is busy.
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
    await deleteJobs(transaction, workspaceId, [transcriptId]);
    const jobs = result.queued.map(({ id, size_bytes }) => ({
      transcriptId: id,
      sizeBytes: size_bytes,
      isAlone: true,
    }));
    await enqueueJobs(transaction, workspaceId, jobs);
    const { session_id: sessionId } = transcript;
    const others = await listTranscripts(transaction, workspaceId, { sessionId }, { limit: 1 });
    // They belong to the session, which is gone with its last transcript.
    const attachmentKeys = others.length > 0 ? [] : await deleteAttachments(transaction, workspaceId, sessionId);
    return [result.objectKey, ...attachmentKeys];
  });
  if (deleted !== undefined) await finishDeletion(deps, workspaceId, deleted);
  return deleted !== undefined;
}

/** If the process is killed before its end, workers do the rest. */
async function finishDeletion(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  workspaceId: string,
  objectKeys: string[],
): Promise<void> {
  await removeFromSegments(deps.database, workspaceId);
  await deleteRecordedObjects(deps, workspaceId, objectKeys);
}

/** Maximum number whose jobs are deleted together; workers delete the others when they find nothing to do. */
const MAX_TRANSCRIPTS = 10_000;

/**
 * Deletes a session's rows and jobs, including jobs of its streams and attachments, and then its raw objects. Returns
 * false if there is no such session. The transaction records the objects for deletion, and they are deleted after it,
 * because a crash or an outage of the store in between leaves them to `finishDeletions`. Fails if the session is busy.
 */
export async function deleteSession(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  workspaceId: string,
  sessionId: string,
  actor: Actor = 'system',
): Promise<boolean> {
  const deleted = await deps.database.withTransaction(async (transaction) => {
    const transcripts = await listTranscripts(transaction, workspaceId, { sessionId }, { limit: MAX_TRANSCRIPTS });
    const transcriptKeys = await deleteSessionRows(transaction, workspaceId, sessionId);
    const streams = await deleteLiveSession(transaction, { workspaceId, sessionId });
    await deleteJobs(
      transaction,
      workspaceId,
      transcripts.map(({ id }) => id),
    );
    const attachmentKeys = await deleteAttachments(transaction, workspaceId, sessionId);
    if (transcriptKeys.length + attachmentKeys.length === 0 && streams === undefined) return undefined;
    const details = { transcripts: transcriptKeys.length };
    await addAuditEntry(transaction, { workspaceId, actor, action: 'session.delete', subjects: [sessionId], details });
    const objectKeys = [...transcriptKeys, ...attachmentKeys, ...(streams?.objectKeys ?? [])];
    // For streams that are just being stored, because the storing process may be killed before it sees that they are no
    // longer wanted.
    const comingKeys = (streams?.closing ?? []).map(({ id: streamId, transcriptId }) =>
      transcriptId === null ? streamObjectKey({ workspaceId, streamId }) : rawObjectKey({ workspaceId, transcriptId }),
    );
    await recordRawObjectDeletions(transaction, workspaceId, [...objectKeys, ...comingKeys]);
    return objectKeys;
  });
  if (deleted !== undefined) await finishDeletion(deps, workspaceId, deleted);
  return deleted !== undefined;
}

/**
 * Deletes a workspace with everything in it, including rows, keys, jobs, raw objects. If it fails halfway it can be
 * called again. The workspace's own row goes last. Objects that are still in the store are recorded for deletion and
 * left to `finishDeletions` if this process is killed. Uploads in progress fail when it is gone; their own process
 * deletes what they stored. Fails with SQLSTATE 55P03 if its transcripts are being ingested for ten minutes.
 */
export async function deleteWorkspace(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  workspaceId: string,
  actor: Actor = 'system',
): Promise<void> {
  const prefix = workspacePrefix(workspaceId);
  for (const isFinal of [false, true]) {
    await deps.database.withTransaction(async (transaction) => {
      await deleteWorkspaceRows(transaction, workspaceId, { isFinal, actor });
      await deleteJobs(transaction, workspaceId);
      if (isFinal) await recordRawObjectDeletions(transaction, workspaceId, [prefix]);
    });
    await deps.rawStore.deleteAll(prefix);
  }
  await forgetWorkspaceDeletions(deps.database.database, workspaceId);
}
