import type { BackfillReport } from '@recount/collect';
import { formatCount, formatDuration } from '../terminal/format-values.ts';

/** Before that, a rate means little. */
const MIN_MEASURED_MS = 3000;

interface RemainingWork {
  /** Called with the current report; `isDelivered` once everything is read. Returns words such as `3 being ingested`. */
  describe(report: Readonly<Pick<BackfillReport, 'queued' | 'unindexed' | 'failed'>>, isDelivered: boolean): string;
}

/**
 * The work that a backfill still waits for. Once everything is delivered, ingestion and then indexing each get the time
 * that they will take at the rate seen since; earlier there is no rate that would hold, because more is being
 * delivered.
 */
export function createRemainingWork(nowMs: () => number): RemainingWork {
  const toTimeLeft = { ingestion: createTimeLeft(nowMs), indexing: createTimeLeft(nowMs) };
  return {
    describe({ queued, unindexed, failed }, isDelivered) {
      const isIndexing = isDelivered && queued === 0;
      const parts = [
        queued > 0 && `${formatCount(queued)} being ingested${isDelivered ? toTimeLeft.ingestion(queued) : ''}`,
        unindexed > 0 &&
          `${formatCount(unindexed)} being indexed for search${isIndexing ? toTimeLeft.indexing(unindexed) : ''}`,
        failed > 0 && `${formatCount(failed)} failed`,
      ];
      return parts.filter((part) => part !== false).join(', ');
    },
  };
}

/** Time until a count is 0, at the mean rate since the first call: ` (20 s left)`, or nothing if there is no rate yet. */
function createTimeLeft(nowMs: () => number): (count: number) => string {
  let first: { count: number; atMs: number } | undefined;
  return (count) => {
    first ??= { count, atMs: nowMs() };
    const done = first.count - count;
    const elapsedMs = nowMs() - first.atMs;
    return done > 0 && elapsedMs >= MIN_MEASURED_MS ? ` (${formatDuration((elapsedMs / done) * count)} left)` : '';
  };
}
