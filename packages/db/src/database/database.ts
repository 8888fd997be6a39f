import pg from 'pg';
import { drizzle, type NodePgDatabase } from '../drizzle.cjs';
import { adaptToCitus } from '../planner.ts';
import { createPreparingClient } from './preparing-client.ts';

/** Any drizzle handle: of a pool, of one connection, or of a transaction. */
export type Database = Pick<NodePgDatabase, 'select' | 'insert' | 'update' | 'delete' | 'execute'>;

export interface DatabaseOptions {
  connectionString: string;
  /** Connections at most. Default 10. */
  maxConnections?: number;
  /** Shown in pg_stat_activity. */
  applicationName?: string;
  /** Whether connections prepare what they run again and again. Default: no. */
  preparesStatements?: boolean;
  /** An idle connection broke, e.g. because the server restarted; the pool replaces it. */
  onConnectionError?: (error: Error) => void;
}

interface TransactionOptions {
  /** Aborting closes the connection, also while it waits for a lock: Postgres rolls back, and `work` fails. */
  signal?: AbortSignal | undefined;
}

/** A transaction's own connection. */
export type DatabaseClient = pg.PoolClient;

export interface DatabasePool {
  pool: pg.Pool;
  database: NodePgDatabase;
  /**
   * Runs `work` in one transaction on one connection; `transaction` and `client` are the same connection, so that COPY
   * on the client is part of the transaction. Commits when `work` resolves, rolls back when it throws.
   */
  withTransaction<T>(
    work: (transaction: Database, client: DatabaseClient) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>;
  /** Runs `work` on one snapshot of the database: its queries see the same commits. */
  withSnapshot<T>(work: (snapshot: Database) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * A peer that vanished without a word is noticed within half a minute on both sides: by the kernels' defaults it takes
 * two hours, in which the server would keep the locks of a worker whose machine lost power.
 */
const KEEP_ALIVE_DELAY_MS = 10_000;
const KEEP_ALIVE_SETTINGS = [
  'SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3',
  // A server on Windows refuses it: the system does not tell of closed connections.
  `SELECT set_config('client_connection_check_interval', '5000', false) WHERE version() !~* 'windows|mingw|visual c'`,
].join('; ');

/** Whether the server spreads tables over nodes. */
const SELECT_IS_DISTRIBUTED = `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS is_distributed`;

/** Opens a pool; connects when first used. */
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
      const results: unknown = await client.query(`${KEEP_ALIVE_SETTINGS}; ${SELECT_IS_DISTRIBUTED}`);
      const last = (results as pg.QueryResult<{ is_distributed: boolean }>[]).at(-1);
      if (last?.rows[0]?.is_distributed) adaptToCitus(client);
    },
  });
  // Without a listener, a server restart would end the process.
  pool.on('error', (error) => options.onConnectionError?.(error));
  const database = drizzle(pool);
  return {
    pool,
    database,
    async withTransaction(work, { signal } = {}) {
      signal?.throwIfAborted();
      const client = await pool.connect();
      const failures: unknown[] = [];
      // A connection that breaks between two queries reports it here; the next query then fails.
      const onError = (error: Error): void => options.onConnectionError?.(error);
      client.on('error', onError);
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
        });
      } catch (error) {
        failures.push(error);
        // A rollback that fails too must not hide why there was one.
        throw failures[0];
      } finally {
        signal?.removeEventListener('abort', onAbort);
        client.off('error', onError);
        // A connection on which something failed may hold a half-sent COPY: not for reuse.
        client.release(failures.length > 0);
      }
    },
    withSnapshot: (work) => database.transaction(work, { isolationLevel: 'repeatable read', accessMode: 'read only' }),
    close: () => pool.end(),
  };
}

/** Closes the connection; where a query is under way, without waiting for its answer. */
async function endNow(client: pg.PoolClient): Promise<void> {
  // Every client of a pool has it; the type of a pool's clients hides it, as they are to be released.
  await (client as unknown as pg.Client).end();
}
