import { dropExpiredReaders } from '@recount/db';
import { type LoopDeps, type LoopOptions, runLoop } from '../run-loop.ts';

const DEFAULT_INTERVAL_MS = 60_000;

/** Drops the roles of killed `recount sql` processes, now and then every minute. */
export async function runReaderCleanup(
  deps: LoopDeps,
  { signal, intervalMs = DEFAULT_INTERVAL_MS }: LoopOptions,
): Promise<void> {
  await runLoop(deps, { signal, intervalMs }, () => dropExpiredReaders(deps.database));
}
