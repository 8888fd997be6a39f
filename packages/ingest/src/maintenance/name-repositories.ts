import { listWorkspaces, nameRepositories } from '@recount/db';
import { type LoopDeps, type LoopOptions, runLoop } from '../run-loop.ts';

interface Deps extends LoopDeps {
  /** Called for each workspace with transcripts that got a name. */
  onReport(report: { workspaceId: string; transcripts: number }): void;
}

const DEFAULT_INTERVAL_MS = 60 * 60 * 1000;

/**
 * Names the repositories of transcripts that were ingested before repositories had names. It does so now, and every hour
 * for those that were being written, in one process at a time.
 */
export async function runRepositoryNaming(
  deps: Deps,
  { signal, intervalMs = DEFAULT_INTERVAL_MS }: LoopOptions,
): Promise<void> {
  const { database, onReport } = deps;
  await runLoop(deps, { signal, intervalMs, lock: 'repository-names' }, async () => {
    for (const { id } of await listWorkspaces(database.database)) {
      const transcripts = await nameRepositories(database, id, signal);
      if (transcripts > 0) onReport({ workspaceId: id, transcripts });
    }
  });
}
