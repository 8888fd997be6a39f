import { listWorkspaces, refreshTotals } from '@recount/db';
import { type LoopDeps, type LoopOptions, runLoop } from '../run-loop.ts';

const DEFAULT_INTERVAL_MS = 30_000;
/** While a year's transcripts are ingested, each round covers a year's days. */
const PAUSE_FACTOR = 20;

/**
 * Rebuilds the totals of days with changed roll-ups, immediately and then every half a minute, in one process at a time.
 */
export async function runTotals(
  deps: LoopDeps,
  { signal, intervalMs = DEFAULT_INTERVAL_MS }: LoopOptions,
): Promise<void> {
  const { database } = deps;
  await runLoop(deps, { signal, intervalMs, lock: 'totals', pauseFactor: PAUSE_FACTOR }, async (attempt) => {
    for (const { id } of await listWorkspaces(database.database)) {
      if (!signal.aborted) await attempt(() => refreshTotals(database, id, signal));
    }
  });
}
