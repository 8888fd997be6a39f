import type { Db } from 'pg-boss';
import { persist } from './persist.ts';
import { INGEST_QUEUE } from './queue-options.ts';

export interface JobAttempt {
  id: string;
  /** Attempts before this one. */
  retryCount: number;
  /** Whether the outage was everybody's: it is then not counted among those that a job may have. */
  isShared: boolean;
}

/**
 * Grants a job one attempt more, so that the present one does not count when it fails. Also where the queue has taken the
 * worker for dead meanwhile; not where another worker has begun the next attempt. Waits for a database that is away, or
 * takes no writes, until `isStopping`; then throws.
 */
export async function grantAttempt(
  database: Db,
  { id, retryCount, isShared }: JobAttempt,
  isStopping: () => boolean,
): Promise<void> {
  // What has been granted is told by retry_limit; an attempt that is taken back leaves no trace.
  const grant = isShared ? 'retry_count = retry_count - 1' : 'retry_limit = retry_limit + 1';
  await persist(
    () =>
      database.executeSql(
        `UPDATE pgboss.job SET ${grant}
         WHERE name = $1 AND id = $2 AND retry_count = $3 AND state IN ('active', 'retry')`,
        [INGEST_QUEUE, id, retryCount],
      ),
    isStopping,
  );
}
