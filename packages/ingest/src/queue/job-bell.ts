import { type DatabaseClient, type DatabasePool, JOB_CHANNEL } from '@recount/db';

/** New jobs that are taken alone, or in batches. */
type JobKind = 'alone' | 'batch';

/** Wakes loops that wait for jobs. */
export interface JobBell {
  /** Resolves with the next ring. Call it before looking for jobs, so that none is missed in between. */
  wait(kind: JobKind): Promise<void>;
  ring(kind?: JobKind): void;
  close(): Promise<void>;
}

/**
 * Rings when Postgres notifies this process of new jobs, and after each interval, because pauses end and notifications
 * may be lost. Connects again at the next interval if the connection breaks.
 */
export function createJobBell(
  { pool }: Pick<DatabasePool, 'pool'>,
  { intervalMs, onError }: { intervalMs: number; onError: (error: unknown) => void },
): JobBell {
  const next = { alone: Promise.withResolvers<void>(), batch: Promise.withResolvers<void>() };
  let connection: DatabaseClient | undefined;
  let connecting: Promise<void> | undefined;
  let isClosed = false;

  const ringOne = (kind: JobKind): void => {
    const { resolve } = next[kind];
    next[kind] = Promise.withResolvers();
    resolve();
  };
  const ring = (kind?: JobKind): void => {
    if (kind === undefined || kind === 'alone') ringOne('alone');
    if (kind === undefined || kind === 'batch') ringOne('batch');
  };
  const connect = async (): Promise<void> => {
    const client = await pool.connect();
    client.on('error', (error) => {
      if (connection !== client) return;
      connection = undefined;
      client.release(true);
      onError(error);
    });
    client.on('notification', ({ payload }) => ring(payload === 'alone' || payload === 'batch' ? payload : undefined));
    try {
      await client.query(`LISTEN ${JOB_CHANNEL}`);
    } catch (error) {
      client.release(true);
      throw error;
    }
    connection = client;
    if (isClosed) disconnect();
  };
  const disconnect = (): void => {
    const client = connection;
    connection = undefined;
    client?.release(true);
  };
  const listen = (): void => {
    if (connection !== undefined || isClosed) return;
    connecting ??= connect()
      .catch(onError)
      .finally(() => {
        connecting = undefined;
      });
  };
  listen();
  const timer = setInterval(() => {
    listen();
    ring();
  }, intervalMs);

  return {
    wait: (kind) => next[kind].promise,
    ring,
    async close() {
      isClosed = true;
      clearInterval(timer);
      await connecting;
      disconnect();
    },
  };
}
