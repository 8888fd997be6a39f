import {
  completeOrigin,
  hasWorkspace,
  type InsertedTranscript,
  isDatabaseExhausted,
  type NewTranscript,
  OPERATOR,
  type TranscriptRow,
} from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { toTranscriptDescription } from '../raw-objects/describe-transcript.ts';
import { type DuplicateOutcome, settleDuplicate } from '../raw-objects/settle-duplicate.ts';
import { describeNewObject } from './describe-new-object.ts';
import type { IdentifiedUpload } from './prepare-upload.ts';
import type { RecordUpload, Upload } from './record-uploads.ts';

export interface ReceiveResult {
  transcript: TranscriptRow;
  /** The session already had the same bytes. */
  isDuplicate: boolean;
  /** The outcome for the bytes: `stored` if they are new. */
  rawObject: 'stored' | DuplicateOutcome;
}

export const toUpload = ({ request, transcript }: IdentifiedUpload): Upload => ({
  workspaceId: request.workspaceId,
  transcript,
  priority: request.priority ?? 0,
});

/** Describes an upload's object beside it, and records its row and its job. */
export async function recordDescribed(
  deps: IngestDependencies,
  upload: IdentifiedUpload,
  record: RecordUpload,
): Promise<InsertedTranscript> {
  const { request, transcript, description } = upload;
  const { object_key: objectKey } = transcript;
  // An id of the caller's may belong to an object that was there before.
  if (request.transcriptId === undefined) await describeNewObject(deps.rawStore, objectKey, description);
  else await deps.rawStore.describe(objectKey, description);
  return await record(toUpload(upload)).catch(async (error: unknown) => {
    // Nothing was committed. Either clients will retry until there is space, and would fill the store with copies; or
    // the workspace was deleted during the upload, and no one would look for the object. A repeated request writes the
    // same object, which may be a transcript's already.
    const isCopy = isDatabaseExhausted(error) && request.transcriptId === undefined;
    if (isCopy || !(await hasWorkspace(deps.database.database, request.workspaceId)))
      await deps.rawStore.delete(objectKey);
    throw error;
  });
}

/** Does what remains for a recorded upload: a duplicate is compared with the stored copy, and heals or completes it. */
export async function settleUpload(
  deps: IngestDependencies,
  { transcript }: IdentifiedUpload,
  { row, isDuplicate }: InsertedTranscript,
): Promise<ReceiveResult> {
  if (!isDuplicate) return { transcript: row, isDuplicate, rawObject: 'stored' };
  const { object_key: objectKey } = transcript;
  const { transcript: stored, outcome } = await settleDuplicate(deps, row, objectKey);
  const settled = await addOrigin(deps, stored, transcript);
  const isKept = outcome !== 'expired' && settled.object_key === objectKey;
  if (!isKept) await deps.rawStore.delete(objectKey);
  return { transcript: settled, isDuplicate, rawObject: outcome };
}

/**
 * Completes a transcript's machine, person and repository from a duplicate, if it lacks them because it came before the
 * machine was connected. Only its own uploader may do so, or anyone if the operator or an unknown uploader uploaded it.
 */
async function addOrigin(
  deps: IngestDependencies,
  row: TranscriptRow,
  duplicate: NewTranscript,
): Promise<TranscriptRow> {
  const { machine = null, person = null, sent_repository = null, worktree = null } = duplicate;
  const { uploader_key_id: uploader } = duplicate;
  const origin = { machine, person, sent_repository, worktree };
  const names = Object.keys(origin) as (keyof typeof origin)[];
  const isNews = names.some((name) => row[name] === null && origin[name] !== null);
  if (!isNews || ![null, OPERATOR, uploader].includes(row.uploader_key_id)) return row;
  const completed = await deps.database.withTransaction((transaction) => completeOrigin(transaction, row, origin));
  if (completed === undefined) return row;
  if (completed.raw_deleted_at === null) {
    const stored = await deps.rawStore.readDescription(completed.object_key);
    await deps.rawStore.describe(completed.object_key, {
      ...stored,
      ...toTranscriptDescription(completed, completed.created_at),
    });
  }
  return completed;
}
