import type { Database } from '../database/database.ts';
import { lockSession } from '../database/lock-sessions.ts';
import { and, eq, isNull, sql } from '../drizzle.cjs';
import { deleteLostDismissals } from '../findings/finding-decisions.ts';
import { type TranscriptRow, transcripts } from '../schema/transcripts.ts';
import { deleteShares } from '../shares/shares.ts';
import { deleteTranscriptRows } from '../transcripts/delete-rows.ts';
import { findTranscript } from '../transcripts/read-transcripts.ts';
import { deleteLostAnnotation } from './session-annotations.ts';
import { settleSessions } from './settle-sessions.ts';

interface DeletedTranscript {
  /** Key of the raw object, which the caller deletes after the transaction. */
  objectKey: string;
  /**
   * Transcripts that are queued again because their rows were part of the deleted one's; the caller creates their jobs.
   */
  queued: Pick<TranscriptRow, 'id' | 'size_bytes'>[];
}

/**
 * Deletes one transcript with its rows and everything derived from them. Shorter versions that it had superseded are
 * restored, if their raw objects exist. Undefined if the transcript is already gone. Fails with SQLSTATE 55P03 if its
 * session is busy for 5 s.
 */
export async function deleteTranscript(
  transaction: Database,
  { workspace_id: workspaceId, session_id: sessionId, id }: Pick<TranscriptRow, 'workspace_id' | 'session_id' | 'id'>,
): Promise<DeletedTranscript | undefined> {
  // The session may be under ingestion for minutes; waiting requests would use up the connections.
  await transaction.execute(sql`SET LOCAL lock_timeout = '5s'`);
  await lockSession(transaction, workspaceId, sessionId);
  const transcript = await findTranscript(transaction, workspaceId, id);
  if (transcript === undefined) return undefined;
  await transaction.delete(transcripts).where(and(eq(transcripts.workspace_id, workspaceId), eq(transcripts.id, id)));
  await deleteShares(transaction, workspaceId, sessionId);
  const queued = await releaseSuperseded(transaction, transcript);
  const removedRowSetIds = transcript.row_set_id === null ? [] : [transcript.row_set_id];
  await deleteTranscriptRows(transaction, workspaceId, removedRowSetIds);
  await settleSessions(transaction, { workspaceId, sessionIds: [sessionId], written: [], removedRowSetIds });
  await deleteLostAnnotation(transaction, workspaceId, sessionId);
  await deleteLostDismissals(transaction, workspaceId, sessionId);
  return { objectKey: transcript.object_key, queued };
}

/** Transcripts that this one superseded are passed to the superseding one, or ingested again. */
async function releaseSuperseded(
  transaction: Database,
  transcript: TranscriptRow,
): Promise<DeletedTranscript['queued']> {
  const ofTranscript = and(
    eq(transcripts.workspace_id, transcript.workspace_id),
    eq(transcripts.session_id, transcript.session_id),
    eq(transcripts.superseded_by, transcript.id),
  );
  if (transcript.superseded_by !== null) {
    await transaction.update(transcripts).set({ superseded_by: transcript.superseded_by }).where(ofTranscript);
    return [];
  }
  return await transaction
    .update(transcripts)
    .set({ status: 'queued', superseded_by: null, attempt_count: 0, failure_reason: null })
    .where(and(ofTranscript, isNull(transcripts.raw_deleted_at)))
    .returning({ id: transcripts.id, size_bytes: transcripts.size_bytes });
}
