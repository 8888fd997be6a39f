import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '../drizzle.cjs';
import type { Database, DatabasePool } from './database.ts';

/**
 * Runs `work` while holding the lock of that number, which only one process can hold; undefined, without running it, if
 * another process holds it. The lock ends with its connection, even if the process is killed.
 */
export async function withAdvisoryLock<T>(
  { pool }: Pick<DatabasePool, 'pool'>,
  lock: number,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const client = await pool.connect();
  const failures: Error[] = [];
  // Without a listener, a connection that breaks would crash the process.
  const onError = (error: Error): void => void failures.push(error);
  client.on('error', onError);
  try {
    const { rows } = await client.query<{ is_held: boolean }>('SELECT pg_try_advisory_lock($1) AS is_held', [lock]);
    if (!rows[0]?.is_held) return undefined;
    try {
      return await work();
    } finally {
      await client.query('SELECT pg_advisory_unlock($1)', [lock]).catch(onError);
    }
  } finally {
    client.off('error', onError);
    client.release(failures.length > 0);
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
