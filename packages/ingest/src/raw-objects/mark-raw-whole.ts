import { markRawDamaged, type TranscriptRow } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { compareVersionsAgain } from './compare-versions-again.ts';

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
