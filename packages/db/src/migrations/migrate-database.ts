import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { refuseClusterNode } from '../database/cluster.ts';
import type { Database } from '../database/database.ts';
import { toLockNumber } from '../database/locks.ts';
import { SET_SESSION } from '../database/session-settings.ts';
import { drizzle, migrate, sql } from '../drizzle.cjs';
import { distributeTables, isDistributed } from './distribute-tables.ts';

/** The baseline (the whole schema of a new database, and the migrations after it). */
const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../../../drizzle', import.meta.url));

/** The steps from 0.3 to the baseline. The time of the last one is the baseline's, which drizzle then skips. */
const STEPS_FOLDER = `${MIGRATIONS_FOLDER}/from-0.3`;

/** Schema version of 0.3.0. */
const OLDEST_VERSION = 11;

/**
 * Migrates the database to this program's schema. Many processes may call it concurrently. One migrates, the others
 * wait. Throws SchemaVersionError if a newer program has already migrated the database, or if it is older than 0.3, and
 * DistributionError if it is a node of a cluster. Returns the names of tables that it has spread over a cluster, because
 * they are new, or because `distributeDatabase` was interrupted.
 */
export async function migrateDatabase(connectionString: string): Promise<string[]> {
  const client = new pg.Client({ connectionString, application_name: 'recount migrate' });
  // A connection that breaks also rejects the running query; the event alone would crash the process.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(SET_SESSION);
    await client.query('SELECT pg_advisory_lock($1)', [toLockNumber('migration')]);
    const database = drizzle(client);
    await refuseClusterNode(database);
    const { applied, baseline, known } = await readSchemaVersions(database);
    if (applied > known || isTooOld(applied)) throw new SchemaVersionError(applied, known);
    if (applied === 0) await checkEncoding(database);
    const isSpread = await isDistributed(database);
    // Citus passes views on to its nodes, which do not have the underlying tables before these are distributed.
    if (!isSpread) await client.query('SET citus.enable_ddl_propagation = off');
    // Migrations of one run share a transaction. Citus refuses to change a replicated table there after the shards of
    // others were changed in parallel.
    else await client.query('SET citus.multi_shard_modify_mode = sequential');
    if (applied > 0 && applied < baseline) await migrate(database, { migrationsFolder: STEPS_FOLDER });
    await migrate(database, { migrationsFolder: MIGRATIONS_FOLDER });
    return isSpread ? await distributeTables(database) : [];
  } finally {
    await client.end();
  }
}

/**
 * Throws SchemaVersionError if the database is older or newer than this program, and DistributionError if it is a
 * cluster's node, which has no version.
 */
export async function checkSchemaVersion(database: Database): Promise<void> {
  await refuseClusterNode(database);
  const { applied, known } = await readSchemaVersions(database);
  if (applied !== known) throw new SchemaVersionError(applied, known);
}

export class SchemaVersionError extends Error {
  override name = 'SchemaVersionError';

  constructor(applied: number, known: number) {
    super(`The database has schema version ${applied}, this program ${toAdvice(applied, known)}`);
  }
}

function toAdvice(applied: number, known: number): string {
  if (applied > known) return `knows ${known}: install the newer recount that migrated it`;
  if (!isTooOld(applied)) return `needs ${known}: run \`recount migrate\` first`;
  return `migrates from ${OLDEST_VERSION} on: run \`recount migrate\` of recount 0.3 first`;
}

function isTooOld(version: number): boolean {
  return version > 0 && version < OLDEST_VERSION;
}

/** The database cannot hold every text that agents write. */
export class DatabaseEncodingError extends Error {
  override name = 'DatabaseEncodingError';

  constructor(database: string, encoding: string) {
    super(
      `The database ${database} has the encoding ${encoding}, and recount needs UTF8: create another one with ` +
        "CREATE DATABASE recount ENCODING 'UTF8' LOCALE 'C.UTF-8' TEMPLATE template0, and name it in DATABASE_URL",
    );
  }
}

/** SQL_ASCII, too, is refused. It takes any bytes, and compares letters outside of ASCII as bytes. */
async function checkEncoding(database: Database): Promise<void> {
  const { rows } = await database.execute<{ name: string; encoding: string }>(sql`
    SELECT datname AS name, pg_encoding_to_char(encoding) AS encoding FROM pg_database WHERE datname = current_database()`);
  const { name = '', encoding = '' } = rows[0] ?? {};
  if (encoding !== 'UTF8') throw new DatabaseEncodingError(name, encoding);
}

/** Versions are numbers of migrations, and the baseline counts for many. A database without any has version 0. */
async function readSchemaVersions(database: Database): Promise<{ applied: number; baseline: number; known: number }> {
  const journal = JSON.parse(await readFile(`${MIGRATIONS_FOLDER}/meta/_journal.json`, 'utf8')) as {
    entries: { idx: number; when: number }[];
  };
  const first = journal.entries[0] ?? { idx: 0, when: 0 };
  const versions = { baseline: first.idx + 1, known: first.idx + journal.entries.length };
  const { rows: found } = await database.execute<{ exists: boolean }>(
    sql`SELECT to_regclass('drizzle.__drizzle_migrations') IS NOT NULL AS exists`,
  );
  if (!found[0]?.exists) return { applied: 0, ...versions };
  const { rows } = await database.execute<{ count: number; began_with_baseline: boolean | null }>(
    sql`SELECT count(*)::int AS count, min(created_at) >= ${first.when} AS began_with_baseline
        FROM drizzle.__drizzle_migrations`,
  );
  const { count = 0, began_with_baseline } = rows[0] ?? {};
  return { applied: began_with_baseline ? first.idx + count : count, ...versions };
}
