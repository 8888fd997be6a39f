import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '../drizzle.cjs';
import type { Database, DatabasePool } from './database.ts';

/**
 * Runs `work` while this process alone, of all that ask for it, holds the lock of that number; undefined, without running
 * it, where another one does. The lock ends with its connection, also where the process is killed.
 */
export async function withAdvisoryLock<T>(
  { pool }: Pick<DatabasePool, 'pool'>,
  lock: number,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const client = await pool.connect();
  const failures: Error[] = [];
  // Without a listener, a connection that breaks would end the process.
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
 * Waits for a workspace and holds it until the transaction ends: `shared` with all who write rows of it, `exclusive` to delete it.
 * Not by its row, which on Citus stands on every node, and of which each node would have to wait for the others. With an id of
 * its own the transaction is one that `waitForWriters` waits for.
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
 * Resolves when every transaction of this database that had begun to write, or held a workspace, has ended: none is left that may have read settings
 * of before. Takes as long as the longest of them, an ingestion under way among them.
 *
 * By their locks, which a transaction holds on its own id from its first write to its end. Snapshots would tell of all databases
 * of the server, and this one would wait for whatever others do.
 */
export async function waitForWriters(database: Database, signal?: AbortSignal): Promise<void> {
  let ids = await listWriters(database);
  while (ids.length > 0) {
    await sleep(POLL_INTERVAL_MS, undefined, { signal });
    const now = new Set(await listWriters(database));
    ids = ids.filter((id) => now.has(id));
  }
}

/** Ids of the transactions of this database, but the caller's own, that have begun to write. */
async function listWriters(database: Database): Promise<string[]> {
  const { rows } = await database.execute<{ id: string }>(sql`
    SELECT l.transactionid::text AS id
    FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
    WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted
      AND a.datname = current_database() AND a.pid <> pg_backend_pid()`);
  return rows.map(({ id }) => id);
}
