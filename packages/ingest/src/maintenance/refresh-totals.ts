import { setTimeout as sleep } from 'node:timers/promises';
import { listWorkspaces, refreshTotals, withAdvisoryLock } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { toFailureReason } from '../process/failure-reason.ts';

type Deps = Pick<IngestDependencies, 'database'>;

/** Any constant will do if nothing else in the database uses it. */
const TOTALS_LOCK = 7_262_894;
const DEFAULT_INTERVAL_MS = 30_000;
/**
 * A pause lasts this many times as long as the work before it, because while a year's transcripts are ingested, each
 * round covers a year's days.
 */
const PAUSE_FACTOR = 20;

/**
 * Rebuilds the totals of days with changed roll-ups, immediately and then every half a minute, in one process at a
 * time, until `signal` aborts. Never rejects.
 */
export async function runTotals(
  { database, onFailure }: Deps & { onFailure: (reason: string) => void },
  { signal, intervalMs = DEFAULT_INTERVAL_MS }: { signal: AbortSignal; intervalMs?: number },
): Promise<void> {
  while (!signal.aborted) {
    const startMs = performance.now();
    const attempt = (work: () => Promise<unknown>): Promise<unknown> =>
      work().catch((error: unknown) => {
        if (!signal.aborted) onFailure(toFailureReason(error));
      });
    await attempt(() =>
      withAdvisoryLock(database, TOTALS_LOCK, async () => {
        for (const { id } of await listWorkspaces(database.database)) {
          if (!signal.aborted) await attempt(() => refreshTotals(database, id, signal));
        }
      }),
    );
    const pauseMs = Math.max(intervalMs, (performance.now() - startMs) * PAUSE_FACTOR);
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}
