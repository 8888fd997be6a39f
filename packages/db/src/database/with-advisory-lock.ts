import type { DatabasePool } from './database.ts';

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
