import { type Database, findTranscript, hasShorterVersions, type TranscriptRow } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { requeueWithin } from '../maintain/requeue-transcript.ts';

/**
 * Has a transcript ingested again whose raw object was lost or damaged and is whole now: shorter versions of its session that
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
