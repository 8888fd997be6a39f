import pg from 'pg';
import { drizzle, type NodePgDatabase, type PgTransactionConfig } from '../drizzle.cjs';
import { adaptToCitus, WITHOUT_JIT } from './planner.ts';
import { createPreparingClient } from './preparing-client.ts';
import { CAN_CHECK_CLIENTS, SET_SESSION } from './session-settings.ts';

/** Any drizzle handle, of a pool, a connection, or a transaction. */
export type Database = Pick<NodePgDatabase, 'select' | 'insert' | 'update' | 'delete' | 'execute'>;

export interface DatabaseOptions {
  connectionString: string;
  /** Maximum number of connections. Default 10. */
  maxConnections?: number;
  /** Shown in pg_stat_activity. */
  applicationName?: string;
  /** True if connections prepare statements that they run repeatedly. Defaults to no. */
  preparesStatements?: boolean;
  /** Called when an idle connection breaks, e.g. because the server restarted; the pool replaces it. */
  onConnectionError?: (error: Error) => void;
}

interface TransactionOptions {
  /** Aborting closes the connection, even while it waits for a lock: Postgres rolls back, and `work` fails. */
  signal?: AbortSignal | undefined;
}

/** A transaction's own connection. */
export type DatabaseClient = pg.PoolClient;

export interface DatabasePool {
  pool: pg.Pool;
  database: NodePgDatabase;
  /**
   * Runs `work` in one transaction on one connection; `transaction` and `client` use the same connection, so COPY on
   * the client is part of the transaction. Commits when `work` resolves, rolls back when it throws.
   */
  withTransaction<T>(
    work: (transaction: Database, client: DatabaseClient) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>;
  /** Runs `work` on one snapshot of the database. Its queries see the same commits. */
  withSnapshot<T>(work: (snapshot: Database) => Promise<T>): Promise<T>;
  /** Waits a moment for queries that run; then closes their connections, even those that wait for a lock. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** The time that closing waits for queries. The owner of the pool has given its own work its time. */
const CLOSE_GRACE_MS = 5000;

/**
 * Detects a vanished peer within half a minute on both sides. With the kernels' defaults it takes two hours, during
 * which the server would keep the locks of a worker whose machine lost power.
 */
const KEEP_ALIVE_DELAY_MS = 10_000;
const KEEP_ALIVE_SETTINGS = [
  'SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3',
  `SELECT set_config('client_connection_check_interval', '5000', false) WHERE ${CAN_CHECK_CLIENTS}`,
].join('; ');

/** True if the server distributes tables over nodes. */
const SELECT_IS_DISTRIBUTED = `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS is_distributed`;

/** Creates a pool, which connects on first use. */
export function createDatabasePool(options: DatabaseOptions): DatabasePool {
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.maxConnections ?? 10,
    application_name: options.applicationName ?? 'recount',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...(options.preparesStatements && { Client: createPreparingClient() }),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    onConnect: async (client) => {
      const results: unknown = await client.query(
        `${SET_SESSION}; ${KEEP_ALIVE_SETTINGS}; ${WITHOUT_JIT}; ${SELECT_IS_DISTRIBUTED}`,
      );
      const last = (results as pg.QueryResult<{ is_distributed: boolean }>[]).at(-1);
      if (last?.rows[0]?.is_distributed) adaptToCitus(client);
    },
  });
  // Without a listener, a server restart would crash the process.
  const onError = (error: Error): void => options.onConnectionError?.(error);
  pool.on('error', onError);
  const connected = new Set<pg.PoolClient>();
  pool.on('connect', (client) => {
    connected.add(client);
    // The pool's own listener is gone before the code that waits for a connection can add one. An error that arrives
    // with the answer to the query before it, in one packet, is then no one's, and would crash the process.
    client.on('error', () => {});
  });
  pool.on('remove', (client) => connected.delete(client));
  const database = drizzle(pool);
  return {
    pool,
    database,
    withTransaction: (work, { signal } = {}) => runTransaction(pool, work, { signal, onError }),
    withSnapshot: (work) => runTransaction(pool, work, { onError, config: SNAPSHOT }),
    async close() {
      const ended = pool.end();
      const timer = setTimeout(() => {
        for (const client of connected) endNow(client).catch(() => undefined);
      }, CLOSE_GRACE_MS);
      await ended.finally(() => clearTimeout(timer));
    },
  };
}

const SNAPSHOT: PgTransactionConfig = { isolationLevel: 'repeatable read', accessMode: 'read only' };

interface RunOptions extends TransactionOptions {
  /** Called if the connection breaks. */
  onError: (error: Error) => void;
  /** For a transaction that only reads. */
  config?: PgTransactionConfig;
}

async function runTransaction<T>(
  pool: pg.Pool,
  work: (transaction: Database, client: DatabaseClient) => Promise<T>,
  { signal, onError, config }: RunOptions,
): Promise<T> {
  signal?.throwIfAborted();
  const client = await pool.connect();
  if (signal?.aborted) {
    client.release();
    throw signal.reason;
  }
  const failures: unknown[] = [];
  let isBroken = false;
  // A connection that breaks between two queries reports it here; the next query then fails.
  const onBroken = (error: Error): void => {
    isBroken = true;
    onError(error);
  };
  client.on('error', onBroken);
  const onAbort = (): void => {
    endNow(client).catch(onError);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await drizzle(client).transaction(async (transaction) => {
      try {
        return await work(transaction, client);
      } catch (error) {
        failures.push(error);
        throw error;
      }
    }, config);
  } catch (error) {
    failures.push(error);
    // If the rollback fails too, the original error is thrown.
    throw failures[0];
  } finally {
    signal?.removeEventListener('abort', onAbort);
    client.off('error', onBroken);
    // After a failure, the connection may have an unfinished COPY and must not be reused, unless it only read.
    client.release(isBroken || (config === undefined && failures.length > 0));
  }
}

/** Closes the connection without waiting for a running query. */
async function endNow(client: pg.PoolClient): Promise<void> {
  // All clients of a pool have it; the pool's type hides it, because clients are meant to be released.
  await (client as unknown as pg.Client).end();
}
