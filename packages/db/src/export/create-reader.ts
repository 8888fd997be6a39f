import { randomBytes } from 'node:crypto';
import { type NamedKind, PERSON_FIELDS, TEXT_FIELDS } from '@recount/contract/access';
import pg from 'pg';
import type { Database, DatabasePool } from '../database/database.ts';
import { CAN_CHECK_CLIENTS } from '../database/session-settings.ts';
import { sql } from '../drizzle.cjs';
import { listVisible, readPolicyNames, type VisibleNames } from '../filters/visible-names.ts';
import { isDistributed, letNodesRead } from '../migrations/distribute-tables.ts';
import { listWorkspaces } from '../workspaces/workspaces.ts';
import { endTrespassers, forbidWrites } from './bound-reader.ts';

/** A database role that can only read the analytics views; for one person and one call. */
export interface DatabaseReader {
  user: string;
  password: string;
  /** True if some names of people and machines are null, because a workspace that it sees hides them. */
  isNameless: boolean;
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
const WATCH_MS = 1000;
/** The longest transaction of a reader, whatever its session sets. */
const TRANSACTION_LIMIT_MS = 600_000;
const LOCK = sql`SELECT pg_advisory_xact_lock(hashtextextended('recount/reader', 0))`;

/** The view of a reader. */
export interface ReaderView {
  /** Undefined means all workspaces. */
  workspaceId: string | undefined;
  /** False leaves out the columns of text, and the names where a workspace's policy hides them. Default true. */
  hasTexts?: boolean;
  /**
   * The only names of each kind that are shown; all others are null. Undefined shows all names, or with `hasTexts` false,
   * the names that their workspaces show.
   */
  names?: Readonly<Partial<Record<NamedKind, readonly string[]>>> | undefined;
}

/**
 * Creates a reader. If the installation has several workspaces, it sees only `workspaceId`, through views with the same
 * names as the analytics ones in a separate schema; so does one without texts, whose views lack their columns, and one with
 * `names`. A transaction ends after `transactionLimitMs`, and within a second or so if it takes an advisory lock. Rejects
 * with Postgres's `42501` (insufficient_privilege) if the pool's own role may not create roles.
 */
export async function createDatabaseReader(
  pool: DatabasePool,
  { workspaceId, hasTexts = true, names }: ReaderView,
  transactionLimitMs = TRANSACTION_LIMIT_MS,
): Promise<DatabaseReader> {
  const { database, withTransaction } = pool;
  const user = PREFIX + randomBytes(6).toString('hex');
  const password = randomBytes(24).toString('hex');
  await dropExpiredReaders(pool);
  const isNameless = await withTransaction(async (transaction) => {
    const run = (statement: string) => transaction.execute(sql.raw(statement));
    // Concurrent changes of one view's privileges would fail.
    await transaction.execute(LOCK);
    await createRole(run, user, password);
    await forbidWrites(transaction);
    const workspaceIds = (await listWorkspaces(transaction)).map(({ id }) => id);
    const isWhole = workspaceId === undefined || workspaceIds.length < 2;
    const seenIds = isWhole ? workspaceIds : [workspaceId];
    const hiding = new Map<string, VisibleNames>();
    for (const id of hasTexts || names !== undefined ? [] : seenIds) {
      const visible = await readPolicyNames(transaction, id);
      if (visible !== undefined) hiding.set(id, visible);
    }
    const schema = isWhole && hasTexts && names === undefined ? 'analytics' : user;
    const view = { workspaceId: isWhole ? undefined : workspaceId, hasTexts, names, hiding };
    if (schema === user) await createViews(run, schema, view);
    await run(`ALTER ROLE ${user} SET search_path = ${schema}`);
    await run(`GRANT USAGE ON SCHEMA ${schema} TO ${user}`);
    await run(`GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${user}`);
    return hiding.size > 0;
  });
  const renewal = setInterval(() => {
    // If this fails for long, the role is dropped, as it should be.
    renew(database, user).catch(() => undefined);
  }, RENEWAL_MS);
  renewal.unref();
  let isWatching = false;
  const watch = setInterval(() => {
    // Not twice concurrently, because a slow database would lend all its connections for it.
    if (isWatching) return;
    isWatching = true;
    endTrespassers(database, user, transactionLimitMs)
      .catch(() => undefined)
      .finally(() => {
        isWatching = false;
      });
  }, WATCH_MS);
  watch.unref();
  let dropping: Promise<void> | undefined;
  const drop = (): Promise<void> => {
    clearInterval(renewal);
    // Its sessions may hold the lock that dropping it takes.
    dropping ??= withTransaction((transaction) => dropRole(transaction, user)).finally(() => clearInterval(watch));
    return dropping;
  };
  try {
    if (await isDistributed(database)) await letNodesRead(database, user);
  } catch (error) {
    await drop();
    throw error;
  }
  return { user, password, isNameless, drop };
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

interface CreatedView extends ReaderView {
  hasTexts: boolean;
  /** The names that are shown in each workspace, by its id, that hides names. */
  hiding: ReadonlyMap<string, VisibleNames>;
}

async function createViews(
  run: Run,
  schema: string,
  { workspaceId, hasTexts, names, hiding }: CreatedView,
): Promise<void> {
  if (workspaceId !== undefined && !/^[0-9A-Z]+$/.test(workspaceId)) throw new TypeError('A workspace id is a ULID');
  await run(`CREATE SCHEMA ${schema}`);
  const { rows } =
    await run(`SELECT table_name AS name, array_agg(column_name::text ORDER BY ordinal_position) AS columns
    FROM information_schema.columns WHERE table_schema = 'analytics' GROUP BY table_name
    HAVING 'workspace_id' = ANY(array_agg(column_name::text))`);
  /** The rows whose names are shown; undefined means all. */
  const toShown = (column: string, named: NamedKind): string | undefined => {
    if (names !== undefined) return names[named] && isOneOf(column, names[named]);
    if (hiding.size === 0) return undefined;
    const ofEach = [...hiding].map(([id, visible]) => {
      const shown = listVisible(visible)[named] ?? [];
      return shown.length === 0 ? [] : [`${isOneOf('workspace_id', [id])} AND ${isOneOf(column, shown)}`];
    });
    return [`NOT ${isOneOf('workspace_id', [...hiding.keys()])}`, ...ofEach.flat()].join(' OR ');
  };
  for (const { name, columns } of rows as { name: string; columns: string[] }[]) {
    const shown = columns
      .filter((column) => hasTexts || !TEXT_FIELDS.has(column))
      .map((column) => {
        const named = PERSON_FIELDS.get(column);
        const condition = named && toShown(column, named);
        return condition === undefined ? `"${column}"` : `CASE WHEN ${condition} THEN "${column}" END AS "${column}"`;
      });
    // Its rows are names.
    const ofNames = name === 'person_names' ? toShown('person', 'person') : undefined;
    const conditions = [
      ...(workspaceId === undefined ? [] : [`workspace_id = '${workspaceId}'`]),
      ...(ofNames === undefined ? [] : [`(${ofNames})`]),
    ];
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
    await run(`CREATE VIEW ${schema}.${name} WITH (security_barrier) AS
      SELECT ${shown.join(', ')} FROM analytics.${name}${where}`);
  }
}

const isOneOf = (column: string, names: readonly string[]): string =>
  `"${column}" = ANY(ARRAY[${names.map(pg.escapeLiteral).join(', ')}]::text[])`;

async function createRole(run: Run, user: string, password: string): Promise<void> {
  const { rows } = await run(`SELECT ${VALID_UNTIL} AS until, ${CAN_CHECK_CLIENTS} AS can_check_clients`);
  await run(`CREATE ROLE ${user} LOGIN PASSWORD '${password}' CONNECTION LIMIT 5 VALID UNTIL '${rows[0]?.until}'`);
  await run(`ALTER ROLE ${user} SET default_transaction_read_only = on`);
  // A statement ends with the process that asked, however that ends.
  if (rows[0]?.can_check_clients) await run(`ALTER ROLE ${user} SET client_connection_check_interval = '5s'`);
  await joinRole(run, user);
}

/** By the clock of the server, which compares it. */
const VALID_UNTIL = `(clock_timestamp() + interval '${VALID_FOR}')::text`;

async function renew(database: Database, user: string): Promise<void> {
  const { rows } = await database.execute<{ until: string }>(sql.raw(`SELECT ${VALID_UNTIL} AS until`));
  await database.execute(sql.raw(`ALTER ROLE ${user} VALID UNTIL '${rows[0]?.until}'`));
}

async function dropRole(transaction: Database, user: string): Promise<void> {
  const run: Run = (statement) => transaction.execute(sql.raw(statement));
  await joinRole(run, user);
  // Before the lock, which they may hold.
  await run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE usename = '${user}' AND datname = current_database()`);
  await transaction.execute(LOCK);
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
