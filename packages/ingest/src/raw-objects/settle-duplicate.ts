import { findTranscript, recordRawObjectDeletions, replaceRawObject, type TranscriptRow } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { requeueTranscript } from '../queue/requeue-transcript.ts';
import { deleteRecordedObjects } from './delete-raw-objects.ts';
import { toTranscriptDescription } from './describe-transcript.ts';
import { compareVersionsAgain, examineRawObject, markRawWhole } from './examine-raw-object.ts';

/**
 * The outcome for bytes that a transcript already has.
 *
 * - `duplicate` means that its raw object was read and is intact; the copy is not needed
 * - `healed` means that its raw object was lost or damaged; the copy has replaced it
 * - `expired` means that retention has deleted its raw object, which stays deleted
 */
export type DuplicateOutcome = 'duplicate' | 'healed' | 'expired';

interface SettledDuplicate {
  /** Its current row. */
  transcript: TranscriptRow;
  outcome: DuplicateOutcome;
}

/**
 * Compares a transcript's raw object with its checksum, and if it is not intact replaces it by `copyKey`, an object
 * with the uploaded bytes. Otherwise the caller deletes the copy. What retention has deleted stays deleted. A failed
 * transcript is tried again, because uploading it again asks for that.
 */
export async function settleDuplicate(
  deps: IngestDependencies,
  row: TranscriptRow,
  copyKey: string,
): Promise<SettledDuplicate> {
  const { database } = deps.database;
  if (row.raw_deleted_at !== null && row.status !== 'failed') return { transcript: row, outcome: 'expired' };
  // A request repeated with the same id has written the same object again.
  const isSame = row.object_key === copyKey;
  const isWhole = !isSame && (await isObjectWhole(deps, row));
  if (!isSame && !isWhole && !(await replaceObject(deps, row, copyKey))) {
    const now = await findTranscript(database, row.workspace_id, row.id);
    // Deleted since then; or another process was faster and has named an object that must be compared in turn.
    return now === undefined ? { transcript: row, outcome: 'duplicate' } : await settleDuplicate(deps, now, copyKey);
  }
  const outcome = isSame || isWhole ? 'duplicate' : 'healed';
  const isMarked = row.raw_damaged_at !== null;
  if (outcome === 'duplicate' && isMarked) await markRawWhole(deps, row);
  // If secrets were removed from the first copy, the second one needs the same.
  const holdsSecrets = outcome === 'healed' && row.stored_sha256 !== null;
  const isRequeued = row.status === 'failed' || holdsSecrets;
  if (isRequeued) {
    await requeueTranscript(deps, { workspaceId: row.workspace_id, transcriptId: row.id }, [row.status]);
  }
  const hasChanged = outcome === 'healed' || isMarked || isRequeued;
  const now = hasChanged ? await findTranscript(database, row.workspace_id, row.id) : row;
  return { transcript: now ?? row, outcome };
}

async function isObjectWhole({ rawStore }: IngestDependencies, row: TranscriptRow): Promise<boolean> {
  const state = await examineRawObject(rawStore, row);
  // Checked twice, because the connection to the store may have broken.
  return (state === 'unreadable' ? await examineRawObject(rawStore, row) : state) === 'whole';
}

/** Returns false if the transcript now names another object. Deletes the object that it named before. */
async function replaceObject(deps: IngestDependencies, row: TranscriptRow, copyKey: string): Promise<boolean> {
  // The copy arrived as a separate transcript; from now on it is this one's.
  const earlier = await deps.rawStore.readDescription(row.object_key);
  const described = toTranscriptDescription({ ...row, stored_sha256: null }, row.created_at);
  await deps.rawStore.describe(copyKey, { ...earlier, ...described });
  const isReplaced = await deps.database.withTransaction(async (transaction) => {
    if (!(await replaceRawObject(transaction, row, copyKey))) return false;
    await recordRawObjectDeletions(transaction, row.workspace_id, [row.object_key]);
    await compareVersionsAgain(transaction, row);
    return true;
  });
  if (isReplaced) await deleteRecordedObjects(deps, row.workspace_id, [row.object_key]);
  return isReplaced;
}
