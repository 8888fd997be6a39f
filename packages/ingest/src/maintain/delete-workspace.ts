import { type Actor, deleteWorkspaceRows, forgetWorkspaceDeletions, recordRawObjectDeletions } from '@recount/db';
import { workspacePrefix } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { deleteJobs } from '../queue/index.ts';

/**
 * Deletes a workspace with everything that is in it: rows, keys, jobs, raw objects. Where it fails in between it can be
 * called again: the workspace's own row goes last. What then still lies in the store is recorded as to be deleted, and left
 * to `finishDeletions` where this is killed. Uploads under way fail when it has gone; what they stored, their own
 * process deletes. Fails with SQLSTATE 55P03 where transcripts of it are being ingested for ten minutes.
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
      await deleteJobs(transaction, { workspaceId });
      if (isFinal) await recordRawObjectDeletions(transaction, workspaceId, [prefix]);
    });
    for await (const { key } of deps.rawStore.list(prefix)) await deps.rawStore.delete(key);
  }
  await forgetWorkspaceDeletions(deps.database.database, workspaceId);
}
