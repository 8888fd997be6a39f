import { setTimeout as sleep } from 'node:timers/promises';
import { dropExpiredReaders } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { toFailureReason } from '../process/failure-reason.ts';

const DEFAULT_INTERVAL_MS = 60_000;

/** Drops the roles of killed `recount sql` processes, now and then every minute, until `signal` aborts. Never rejects. */
export async function runReaderCleanup(
  { database, onFailure }: Pick<IngestDependencies, 'database'> & { onFailure: (reason: string) => void },
  { signal, intervalMs = DEFAULT_INTERVAL_MS }: { signal: AbortSignal; intervalMs?: number },
): Promise<void> {
  while (!signal.aborted) {
    await dropExpiredReaders(database).catch((error: unknown) => {
      if (!signal.aborted) onFailure(toFailureReason(error));
    });
    await sleep(intervalMs, undefined, { signal }).catch(() => undefined);
  }
}
