import { join } from 'node:path';
import { LocalPostgresError } from './local-postgres-error.ts';
import { describeHolder, isVisible, type ProcessLock, readLockHolder, takeProcessLock } from './process-lock.ts';

/**
 * The two locks of a cluster. Both are kernel locks, so they work across PID namespaces and containers.
 *
 * The process responsible for stopping the server holds `owner.lock`. The process that starts the server holds
 * `cluster.lock`, and from then on every process of the server does. It is free if and only if nothing has the
 * cluster's files open.
 */
type PostgresLockName = 'owner.lock' | 'cluster.lock';

export function takePostgresLock(directory: string, name: PostgresLockName): ProcessLock | undefined {
  return takeProcessLock(join(directory, name));
}

/** True if this process can see the lock's holder, and so may use or stop its server. */
export function hasVisibleHolder(directory: string, name: PostgresLockName): boolean {
  const holder = readLockHolder(join(directory, name));
  // A holder without a note yet is about to write it.
  return holder === undefined || isVisible(holder);
}

/** The message if a process that cannot be seen from here holds the lock. */
export function createInvisibleHolderError(directory: string, name: PostgresLockName): LocalPostgresError {
  const holder = describeHolder(readLockHolder(join(directory, name)));
  return new LocalPostgresError(
    `The database in ${directory} is in use by ${holder}, which is not visible from here. Two servers on the same files ` +
      'would destroy them. Stop recount there, or name another folder in RECOUNT_DATA_DIR.',
  );
}
