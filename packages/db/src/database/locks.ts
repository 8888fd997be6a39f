import { setTimeout as sleep } from 'node:timers/promises';
import { eq, sql } from '../drizzle.cjs';
import { workspaces } from '../schema/workspaces.ts';
import type { Database, DatabasePool } from './database.ts';

/** Work that one process does at a time. The place in the list gives the lock's number: add new ones at the end. */
const ADVISORY_LOCKS = [
  'migration',
  'retention',
  'workspace-records',
  'totals',
  'reparse',
  'repository-names',
  'demo',
  'budgets',
  'alerts',
  'repository-renames',
  'digests',
] as const;
export type AdvisoryLock = (typeof ADVISORY_LOCKS)[number];

/** Any constant: no other program uses numbers near it in this database. */
const FIRST_LOCK_NUMBER = 7_262_891;

/** The number of a lock for `pg_advisory_lock`. */
export const toLockNumber = (lock: AdvisoryLock): number => FIRST_LOCK_NUMBER + ADVISORY_LOCKS.indexOf(lock);

/**
 * Runs `work` while holding a lock that only one process can hold; undefined, without running it, if another process
 * holds it. The lock ends with its connection, even if the process is killed. `work` gets a signal that aborts if the
 * connection breaks, from when on another process may hold the lock.
 */
export async function withAdvisoryLock<T>(
  { pool }: Pick<DatabasePool, 'pool'>,
  lock: AdvisoryLock,
  work: (isLost: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const client = await pool.connect();
  const number = toLockNumber(lock);
  const lost = new AbortController();
  const onError = (error: Error): void => lost.abort(error);
  client.on('error', onError);
  try {
    const { rows } = await client.query<{ is_held: boolean }>('SELECT pg_try_advisory_lock($1) AS is_held', [number]);
    if (!rows[0]?.is_held) return undefined;
    try {
      return await work(lost.signal);
    } finally {
      await client.query('SELECT pg_advisory_unlock($1)', [number]).catch(onError);
    }
  } finally {
    client.off('error', onError);
    client.release(lost.signal.aborted);
  }
}

/**
 * Waits for a workspace and holds it until the transaction ends: `shared` by everyone who writes its rows, `exclusive`
 * to delete it. Does not lock its row, which on Citus exists on every node, so that each node would have to wait for
 * the others. Assigns a transaction id, so that `waitForWriters` waits for this transaction.
 */
export async function lockWorkspace(
  transaction: Database,
  workspaceId: string,
  mode: 'shared' | 'exclusive',
): Promise<void> {
  const lock = sql.raw(mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock');
  await transaction.execute(
    sql`SELECT ${lock}(hashtextextended(${`workspace/${workspaceId}`}, 0)), pg_current_xact_id()`,
  );
}

/** Makes changes of what a workspace is set to one at a time. Not `update`, which would wait for running ingestions. */
export async function lockWorkspaceChanges(transaction: Database, workspaceId: string): Promise<void> {
  await transaction
    .select({ id: workspaces.id })
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId))
    .for('no key update');
}

const POLL_INTERVAL_MS = 100;

/**
 * Resolves when every transaction of this database that had begun to write, or held a workspace, has ended. None is
 * left that may have read earlier settings. Takes as long as the longest of them, possibly an ingestion.
 *
 * It checks the lock that a transaction holds on its own id from its first write to its end. Snapshots cover all
 * databases of the server, and would make this one wait for the others.
 */
export async function waitForWriters(database: Database, signal?: AbortSignal): Promise<void> {
  let ids = await listWriters(database);
  while (ids.length > 0) {
    await sleep(POLL_INTERVAL_MS, undefined, { signal });
    const now = new Set(await listWriters(database));
    ids = ids.filter((id) => now.has(id));
  }
}

/** Ids of this database's transactions that have begun to write, except the caller's own. */
async function listWriters(database: Database): Promise<string[]> {
  const { rows } = await database.execute<{ id: string }>(sql`
    SELECT l.transactionid::text AS id
    FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
    WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted
      AND a.datname = current_database() AND a.pid <> pg_backend_pid()`);
  return rows.map(({ id }) => id);
}
