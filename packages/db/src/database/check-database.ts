import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { checkNodes } from './check-nodes.ts';
import type { DatabasePool } from './database.ts';
import {
  LIST_RELATIONS,
  MAX_FAULTS_PER_RELATION,
  type Relation,
  RelationCheckError,
  type RelationFault,
} from './relations.ts';

/** Fixed width, so that rows are neither compressed nor moved to a TOAST table. */
const ROW_CHARACTERS = 400;
const STATEMENT_TIMEOUT_MS = 10_000;
/** The role may not create tables, so a write cannot be tested. */
const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Writes about `sizeBytes` (at least one row of 400 bytes) as ingestion does, to new pages and with WAL, and rolls
 * back, so nothing remains, not even disk space. Rejects with the database's error if that fails, e.g. 53100 for a full
 * disk or 25006 for a replica. A role that may not create tables in the schema `recount` passes if the database is not
 * read-only.
 */
export async function checkDatabaseWrite({ pool }: Pick<DatabasePool, 'pool'>, sizeBytes: number): Promise<void> {
  const rowCount = Math.max(1, Math.ceil(sizeBytes / ROW_CHARACTERS));
  // A different table each time, so that probes of several processes need not wait for each other.
  const table = `recount.write_probe_${randomBytes(8).toString('hex')}`;
  const client = await pool.connect();
  let failure: unknown;
  try {
    await client.query(`
      BEGIN READ WRITE; SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS};
      CREATE TABLE ${table} (filler char(${ROW_CHARACTERS}) NOT NULL);
      INSERT INTO ${table} SELECT '' FROM generate_series(1, ${rowCount});
      ROLLBACK`);
  } catch (error) {
    failure = error;
    if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
  } finally {
    // After an error the transaction is still open.
    client.release(failure !== undefined);
  }
}

/** Any constant that nothing else in the database uses. */
const ADVISORY_LOCK = 5_283_190_447;
/**
 * For undefined_file, feature_not_supported, insufficient_privilege. Amcheck is missing, or this user may not use it.
 */
const NOT_TO_BE_HAD = new Set(['58P01', '0A000', '42501']);
/** For undefined_table, undefined_object, dropped since it was listed. */
const DROPPED = new Set(['42P01', '42704']);

/**
 * Reads every table and every B-tree index of the database, and yields what is damaged (unreadable pages, rows and
 * out-of-line values, rows missing in an index, keys out of order, and duplicates of unique keys). Takes as long as
 * reading everything; concurrent reads and writes are allowed. Creates the extension amcheck if necessary, and then
 * drops it again. On a Citus cluster it also reads every node, where a fault's `relation` is a shard, with its node.
 * @throws RelationCheckError if the server has no amcheck, or the user may not use it
 */
export async function* checkRelations(database: DatabasePool, signal?: AbortSignal): AsyncGenerator<RelationFault> {
  const { pool } = database;
  const client = await pool.connect();
  let isUsable = false;
  try {
    await client.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCK]);
    const { schema, isTemporary } = await provideAmcheck(client);
    try {
      const { rows: relations } = await client.query<Relation>(LIST_RELATIONS);
      for (const relation of relations) {
        signal?.throwIfAborted();
        yield* await checkRelation(client, schema, relation);
      }
      yield* checkNodes(database, schema, signal);
    } finally {
      if (isTemporary) await client.query('DROP EXTENSION IF EXISTS amcheck');
    }
    isUsable = true;
  } finally {
    // Closing the connection releases the lock.
    if (isUsable) await client.query('SELECT pg_advisory_unlock($1)', [ADVISORY_LOCK]);
    client.release(!isUsable);
  }
}

async function provideAmcheck(client: pg.PoolClient): Promise<{ schema: string; isTemporary: boolean }> {
  const find = async (): Promise<string | undefined> => {
    const { rows } = await client.query<{ schema: string }>(
      `SELECT n.nspname AS schema FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'amcheck'`,
    );
    return rows[0]?.schema;
  };
  const known = await find();
  if (known !== undefined) return { schema: known, isTemporary: false };
  try {
    await client.query('CREATE EXTENSION amcheck');
  } catch (cause) {
    if (!NOT_TO_BE_HAD.has(toCode(cause))) throw cause;
    throw new RelationCheckError(
      `the extension amcheck cannot be created (${(cause as Error).message}); let a superuser run CREATE EXTENSION amcheck`,
      { cause },
    );
  }
  return { schema: (await find()) ?? 'public', isTemporary: true };
}

async function checkRelation(
  client: pg.PoolClient,
  schema: string,
  { oid, name, method }: Relation,
): Promise<RelationFault[]> {
  const amcheck = pg.escapeIdentifier(schema);
  const statement =
    method === 'heap'
      ? `SELECT msg AS reason FROM ${amcheck}.verify_heapam($1::oid::regclass, check_toast => true) LIMIT ${MAX_FAULTS_PER_RELATION}`
      : `SELECT NULL AS reason FROM ${amcheck}.bt_index_check($1::oid::regclass, heapallindexed => true)`;
  try {
    const { rows } = await client.query<{ reason: string | null }>(statement, [oid]);
    return rows.flatMap(({ reason }) => (reason === null ? [] : [{ relation: name, reason }]));
  } catch (error) {
    const code = toCode(error);
    if (DROPPED.has(code)) return [];
    if (code === '42501') {
      throw new RelationCheckError(`this user may not use the extension amcheck: ${(error as Error).message}`);
    }
    // data_corrupted, index_corrupted, internal errors, and unreadable files.
    if (code.startsWith('XX') || code.startsWith('58')) return [{ relation: name, reason: (error as Error).message }];
    throw error;
  }
}

function toCode(error: unknown): string {
  return String((error as { code?: unknown }).code ?? '');
}
