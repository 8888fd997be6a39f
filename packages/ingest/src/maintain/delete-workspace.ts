import { deleteWorkspaceRows } from '@recount/db';
import { deleteJobs } from '@recount/queue';
import { workspacePrefix } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';

/**
 * Deletes a workspace with everything that is in it: rows, keys, jobs, raw objects. Where it fails in between it can be
 * called again: the workspace's own row goes last. Uploads under way fail when it has gone; what they stored, their own
 * process deletes. Fails with SQLSTATE 55P03 where transcripts of it are being ingested for ten minutes.
 */
export async function deleteWorkspace(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  workspaceId: string,
): Promise<void> {
  for (const isFinal of [false, true]) {
    await deps.database.withTransaction(async (transaction) => {
      await deleteWorkspaceRows(transaction, workspaceId, { isFinal });
      await deleteJobs(transaction, { workspaceId });
    });
    for await (const { key } of deps.rawStore.list(workspacePrefix(workspaceId))) await deps.rawStore.delete(key);
  }
}
