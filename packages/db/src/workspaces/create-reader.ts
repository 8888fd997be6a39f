import { randomBytes } from 'node:crypto';
import type { DatabasePool } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { isDistributed, letNodesRead } from '../migrations/distribute-tables.ts';
import { listWorkspaces } from './workspaces.ts';

/** A database role that can only read the analytics views; for one person and one call. */
export interface DatabaseReader {
  user: string;
  password: string;
  /** Deletes the role; its connections must be closed. */
  drop(): Promise<void>;
}

const PREFIX = 'recount_sql_';
/** Age of a role that was not dropped because its process was killed, after which the next call drops it. */
const VALID_HOURS = 24;
const LOCK = sql`SELECT pg_advisory_xact_lock(hashtextextended('recount/reader', 0))`;

/**
 * Creates a reader. If the installation has several workspaces, it sees only that of `workspaceId`, through views with
 * the same names as the analytics ones in a schema of its own; undefined means all workspaces. Rejects with Postgres's
 * `42501` (insufficient_privilege) if the pool's own role may not create roles.
 */
export async function createDatabaseReader(
  { database, withTransaction }: DatabasePool,
  workspaceId: string | undefined,
): Promise<DatabaseReader> {
  const user = PREFIX + randomBytes(6).toString('hex');
  const password = randomBytes(24).toString('hex');
  await withTransaction(async (transaction) => {
    const run = (statement: string) => transaction.execute(sql.raw(statement));
    // Concurrent changes of one view's privileges would fail.
    await transaction.execute(LOCK);
    await dropExpired(run);
    await run(`CREATE ROLE ${user} LOGIN PASSWORD '${password}' CONNECTION LIMIT 5
      VALID UNTIL '${new Date(Date.now() + VALID_HOURS * 3_600_000).toISOString()}'`);
    await run(`ALTER ROLE ${user} SET default_transaction_read_only = on`);
    const isWhole = workspaceId === undefined || (await listWorkspaces(transaction)).length < 2;
    const schema = isWhole ? 'analytics' : user;
    if (!isWhole) await createViews(run, schema, workspaceId);
    await run(`ALTER ROLE ${user} SET search_path = ${schema}`);
    await run(`GRANT USAGE ON SCHEMA ${schema} TO ${user}`);
    await run(`GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${user}`);
  });
  const drop = () =>
    withTransaction(async (transaction) => {
      await transaction.execute(LOCK);
      await dropRole((statement) => transaction.execute(sql.raw(statement)), user);
    });
  try {
    if (await isDistributed(database)) await letNodesRead(database, user);
  } catch (error) {
    await drop();
    throw error;
  }
  return { user, password, drop };
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

async function dropExpired(run: Run): Promise<void> {
  const { rows } = await run(
    `SELECT rolname AS name FROM pg_roles WHERE rolname ~ '^${PREFIX}[0-9a-f]{12}$' AND rolvaliduntil < now()`,
  );
  for (const { name } of rows) await dropRole(run, String(name));
}

async function dropRole(run: Run, user: string): Promise<void> {
  await run(`DROP SCHEMA IF EXISTS ${user} CASCADE`);
  await run(`DROP OWNED BY ${user}`);
  await run(`DROP ROLE ${user}`);
}
