import { findTranscript, recordRawObjectDeletions, replaceRawObject, type TranscriptRow } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { requeueTranscript } from '../maintain/requeue-transcripts.ts';
import { toTranscriptDescription } from '../receive/describe-transcript.ts';
import { deleteRecordedObjects } from './delete-raw-objects.ts';
import { compareVersionsAgain, examineRawObject, markRawWhole } from './examine-raw-object.ts';

/**
 * What became of bytes that a transcript has already.
 *
 * - `duplicate`: its raw object was read and is whole; the copy is not needed
 * - `healed`: its raw object was lost or damaged; the copy has taken its place
 * - `expired`: retention has deleted its raw object, which stays deleted
 */
export type DuplicateOutcome = 'duplicate' | 'healed' | 'expired';

interface SettledDuplicate {
  /** As it is now. */
  transcript: TranscriptRow;
  outcome: DuplicateOutcome;
}

/**
 * Compares a transcript's raw object with its checksum, and has `copyKey`, an object of the bytes that were uploaded, take
 * its place where it is not whole. The copy is not deleted otherwise. What retention has deleted stays
 * deleted. A transcript that was given up is tried again: whoever uploads it expects that.
 */
export async function settleDuplicate(
  deps: IngestDependencies,
  row: TranscriptRow,
  copyKey: string,
): Promise<SettledDuplicate> {
  const { database } = deps.database;
  if (row.raw_deleted_at !== null && row.status !== 'failed') return { transcript: row, outcome: 'expired' };
  // A request repeated under its id has written the very object again.
  const isSame = row.object_key === copyKey;
  const isWhole = !isSame && (await isObjectWhole(deps, row));
  if (!isSame && !isWhole && !(await replaceObject(deps, row, copyKey))) {
    const now = await findTranscript(database, row.workspace_id, row.id);
    // Deleted meanwhile; or somebody else was faster, and has named an object that is to be compared in turn.
    return now === undefined ? { transcript: row, outcome: 'duplicate' } : await settleDuplicate(deps, now, copyKey);
  }
  const outcome = isSame || isWhole ? 'duplicate' : 'healed';
  const isMarked = row.raw_damaged_at !== null;
  if (outcome === 'duplicate' && isMarked) await markRawWhole(deps, row);
  // Where the first copy had been freed of secrets, the second one is to be, too.
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
  // Once more: the connection to the store may have broken.
  return (state === 'unreadable' ? await examineRawObject(rawStore, row) : state) === 'whole';
}

/** False where the transcript names another object by now. The one that it named is deleted. */
async function replaceObject(deps: IngestDependencies, row: TranscriptRow, copyKey: string): Promise<boolean> {
  // The copy came as a transcript of its own; from now on it is this one's.
  const earlier = await deps.rawStore.readDescription(row.object_key);
  const described = toTranscriptDescription({ ...row, stored_sha256: null }, row.created_at);
  await deps.rawStore.describe(copyKey, { ...earlier, ...described });
  const isReplaced = await deps.database.withTransaction(async (transaction) => {
    if (!(await replaceRawObject(transaction, row, copyKey))) return false;
    await recordRawObjectDeletions(transaction, row.workspace_id, [row.object_key]);
    await compareVersionsAgain(transaction, deps.queue, row);
    return true;
  });
  if (isReplaced) await deleteRecordedObjects(deps, row.workspace_id, [row.object_key]);
  return isReplaced;
}
