import { join } from 'node:path';
import { LocalPostgresError } from './local-postgres-error.ts';
import { describeHolder, isVisible, type ProcessLock, readLockHolder, takeProcessLock } from './process-lock.ts';

/**
 * The two locks of a cluster. Both are the kernel's, so that they hold across PID namespaces and containers.
 *
 * `owner.lock` is held by the process that is to stop the server. `cluster.lock` is held by whoever starts the server, and
 * from then on by every process of the server: it is free if and only if nothing has the cluster's files open.
 */
type PostgresLockName = 'owner.lock' | 'cluster.lock';

export function takePostgresLock(directory: string, name: PostgresLockName): ProcessLock | undefined {
  return takeProcessLock(join(directory, name));
}

/** Whether this process can see the one that took the lock, and so may use or stop its server. */
export function hasVisibleHolder(directory: string, name: PostgresLockName): boolean {
  const holder = readLockHolder(join(directory, name));
  // One that left no note yet writes it in a moment.
  return holder === undefined || isVisible(holder);
}

/** What to tell people where the lock is held by something that cannot be seen from here. */
export function createInvisibleHolderError(directory: string, name: PostgresLockName): LocalPostgresError {
  const holder = describeHolder(readLockHolder(join(directory, name)));
  return new LocalPostgresError(
    `The database in ${directory} is in use by ${holder}, which cannot be seen from here. Two servers on the same files ` +
      'would destroy them. Stop recount there, or name another folder in RECOUNT_DATA_DIR.',
  );
}
