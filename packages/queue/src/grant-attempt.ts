import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'pg-boss';
import { INGEST_QUEUE } from './queue-options.ts';

export interface JobAttempt {
  id: string;
  /** Attempts before this one. */
  retryCount: number;
}

/** The database that holds the queue may be away just now; while it is, there are no other jobs to be had either. */
const MAX_PATIENCE_MS = 10 * 60 * 1000;
const PAUSE_MS = 500;

/**
 * Grants a job one attempt more, so that the present one does not count when it fails. Also where the queue has taken the
 * worker for dead meanwhile; not where another worker has begun the next attempt. Waits for a database that is away until
 * that is there, at most 10 minutes, or `isStopping`; then throws.
 */
export async function grantAttempt(
  database: Db,
  { id, retryCount }: JobAttempt,
  isStopping: () => boolean,
): Promise<void> {
  const deadlineMs = performance.now() + MAX_PATIENCE_MS;
  for (;;) {
    try {
      await database.executeSql(
        `UPDATE pgboss.job SET retry_limit = retry_limit + 1
         WHERE name = $1 AND id = $2 AND retry_count = $3 AND state IN ('active', 'retry')`,
        [INGEST_QUEUE, id, retryCount],
      );
      return;
    } catch (error) {
      if (isStopping() || performance.now() > deadlineMs) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
