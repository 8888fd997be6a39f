import { randomBytes } from 'node:crypto';
import type { Database, DatabasePool } from '../database/database.ts';
import { CAN_CHECK_CLIENTS } from '../database/session-settings.ts';
import { sql } from '../drizzle.cjs';
import { isDistributed, letNodesRead } from '../migrations/distribute-tables.ts';
import { listWorkspaces } from './workspaces.ts';

/** A database role that can only read the analytics views; for one person and one call. */
export interface DatabaseReader {
  user: string;
  password: string;
  /** Ends the role's connections, with the statements that they run, and deletes it. Further calls do nothing. */
  drop(): Promise<void>;
}

const PREFIX = 'recount_sql_';
/**
 * A role is valid for this long after its process was last heard of; when that process was killed, the next call or a
 * worker drops it.
 */
const VALID_FOR = '2 minutes';
const RENEWAL_MS = 30_000;
const LOCK = sql`SELECT pg_advisory_xact_lock(hashtextextended('recount/reader', 0))`;

/**
 * Creates a reader. If the installation has several workspaces, it sees only `workspaceId`, through views with the same
 * names as the analytics ones in a separate schema; undefined means all workspaces. Rejects with Postgres's `42501`
 * (insufficient_privilege) if the pool's own role may not create roles.
 */
export async function createDatabaseReader(
  pool: DatabasePool,
  workspaceId: string | undefined,
): Promise<DatabaseReader> {
  const { database, withTransaction } = pool;
  const user = PREFIX + randomBytes(6).toString('hex');
  const password = randomBytes(24).toString('hex');
  await dropExpiredReaders(pool);
  await withTransaction(async (transaction) => {
    const run = (statement: string) => transaction.execute(sql.raw(statement));
    // Concurrent changes of one view's privileges would fail.
    await transaction.execute(LOCK);
    await createRole(run, user, password);
    const isWhole = workspaceId === undefined || (await listWorkspaces(transaction)).length < 2;
    const schema = isWhole ? 'analytics' : user;
    if (!isWhole) await createViews(run, schema, workspaceId);
    await run(`ALTER ROLE ${user} SET search_path = ${schema}`);
    await run(`GRANT USAGE ON SCHEMA ${schema} TO ${user}`);
    await run(`GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${user}`);
  });
  const renewal = setInterval(() => {
    // If this fails for long, the role is dropped, as it should be.
    renew(database, user).catch(() => undefined);
  }, RENEWAL_MS);
  renewal.unref();
  let dropping: Promise<void> | undefined;
  const drop = (): Promise<void> => {
    clearInterval(renewal);
    dropping ??= withTransaction((transaction) => dropRole(transaction, user));
    return dropping;
  };
  try {
    if (await isDistributed(database)) await letNodesRead(database, user);
  } catch (error) {
    await drop();
    throw error;
  }
  return { user, password, drop };
}

/**
 * For insufficient_privilege, dependent_objects_still_exist, undefined_object, it belongs to another database's, or was
 * dropped since then.
 */
const NOT_DROPPED = new Set(['42501', '2BP01', '42704']);

/**
 * Drops the readers of processes that were killed, and ends what these still run. Leaves those that the pool's role may
 * not drop.
 */
export async function dropExpiredReaders({ database, withTransaction }: DatabasePool): Promise<void> {
  const { rows } = await database.execute<{ name: string }>(
    sql`SELECT rolname AS name FROM pg_roles
      WHERE rolname ~ ${`^${PREFIX}[0-9a-f]{12}$`}::text AND rolvaliduntil < clock_timestamp()`,
  );
  for (const { name } of rows) {
    try {
      await withTransaction((transaction) => dropRole(transaction, name));
    } catch (error) {
      const { code } = ((error as Error).cause ?? error) as { code?: string };
      if (!NOT_DROPPED.has(code ?? '')) throw error;
    }
  }
}

type Run = (statement: string) => Promise<{ rows: Record<string, unknown>[] }>;

async function createViews(run: Run, schema: string, workspaceId: string): Promise<void> {
  if (!/^[0-9A-Z]+$/.test(workspaceId)) throw new TypeError('A workspace id is a ULID');
  await run(`CREATE SCHEMA ${schema}`);
  const { rows } = await run(`SELECT table_name AS name FROM information_schema.columns
    WHERE table_schema = 'analytics' AND column_name = 'workspace_id'`);
  for (const { name } of rows) {
    await run(`CREATE VIEW ${schema}.${name} WITH (security_barrier) AS
      SELECT * FROM analytics.${name} WHERE workspace_id = '${workspaceId}'`);
  }
}

async function createRole(run: Run, user: string, password: string): Promise<void> {
  const { rows } = await run(`SELECT ${VALID_UNTIL} AS until, ${CAN_CHECK_CLIENTS} AS can_check_clients`);
  await run(`CREATE ROLE ${user} LOGIN PASSWORD '${password}' CONNECTION LIMIT 5 VALID UNTIL '${rows[0]?.until}'`);
  await run(`ALTER ROLE ${user} SET default_transaction_read_only = on`);
  // A statement ends with the process that asked, however that ends.
  if (rows[0]?.can_check_clients) await run(`ALTER ROLE ${user} SET client_connection_check_interval = '5s'`);
}

/** By the clock of the server, which compares it. */
const VALID_UNTIL = `(clock_timestamp() + interval '${VALID_FOR}')::text`;

async function renew(database: Database, user: string): Promise<void> {
  const { rows } = await database.execute<{ until: string }>(sql.raw(`SELECT ${VALID_UNTIL} AS until`));
  await database.execute(sql.raw(`ALTER ROLE ${user} VALID UNTIL '${rows[0]?.until}'`));
}

async function dropRole(transaction: Database, user: string): Promise<void> {
  const run: Run = (statement) => transaction.execute(sql.raw(statement));
  await transaction.execute(LOCK);
  await joinRole(run, user);
  await run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE usename = '${user}' AND datname = current_database()`);
  await run(`DROP SCHEMA IF EXISTS ${user} CASCADE`);
  await run(`DROP OWNED BY ${user}`);
  await run(`DROP ROLE ${user}`);
}

/** Makes the pool's role a member. Otherwise only a superuser may end a role's statements, and drop its privileges. */
async function joinRole(run: Run, user: string): Promise<void> {
  const { rows } = await run(`SELECT rolsuper AS is_superuser,
      current_setting('server_version_num')::int >= 160000 AS inherits_by_grant
    FROM pg_roles WHERE rolname = current_user`);
  if (rows[0]?.is_superuser) return;
  await run(`GRANT ${user} TO CURRENT_USER${rows[0]?.inherits_by_grant ? ' WITH INHERIT TRUE' : ''}`);
}
