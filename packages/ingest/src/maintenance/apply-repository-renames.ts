import { applyRepositoryRenames, listUnappliedWorkspaces, withAdvisoryLock } from '@recount/db';
import { type LoopDeps, type LoopOptions, runLoop } from '../run-loop.ts';

interface Deps extends LoopDeps {
  /** Called for each workspace with sessions that got another name. */
  onReport(report: { workspaceId: string; sessions: number }): void;
}

/** People wait for it. */
const DEFAULT_INTERVAL_MS = 2000;

/** Gives stored sessions the names that admins gave to their repositories, in one process at a time. */
export async function runRepositoryRenaming(
  deps: Deps,
  { signal, intervalMs = DEFAULT_INTERVAL_MS }: LoopOptions,
): Promise<void> {
  const { database, onReport } = deps;
  const apply = async (workspaceId: string): Promise<void> => {
    const sessions = await applyRepositoryRenames(database, workspaceId, signal);
    if (sessions > 0) onReport({ workspaceId, sessions });
  };
  await runLoop(deps, { signal, intervalMs }, async (attempt) => {
    const workspaceIds = await listUnappliedWorkspaces(database.database);
    if (workspaceIds.length === 0) return;
    // Taken only now, because a lock every two seconds would keep a connection busy for nothing.
    await withAdvisoryLock(database, 'repository-renames', async () => {
      for (const id of workspaceIds) if (!signal.aborted) await attempt(() => apply(id));
    });
  });
}
