import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { Database } from '../database/database.ts';
import { SET_SESSION } from '../database/session-settings.ts';
import { drizzle, migrate, sql } from '../drizzle.cjs';
import { distributeTables, isDistributed } from './distribute-tables.ts';

const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../../../drizzle', import.meta.url));

/** Any constant that nothing else in the database uses. */
const MIGRATION_LOCK = 7_262_891;

/**
 * Migrates the database to this program's schema. Many processes may call it at once: one migrates, the others wait.
 * Throws SchemaVersionError if a newer program has already migrated the database.
 */
export async function migrateDatabase(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString, application_name: 'recount migrate' });
  // A connection that breaks also rejects the running query; the event alone would crash the process.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(SET_SESSION);
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const database = drizzle(client);
    const { applied, known } = await readMigrationCounts(database);
    if (applied > known) throw new SchemaVersionError(applied, known);
    if (applied === 0) await checkEncoding(database);
    const isSpread = await isDistributed(database);
    // Citus passes views on to its nodes, which do not have the underlying tables before these are distributed.
    if (!isSpread) await client.query('SET citus.enable_ddl_propagation = off');
    await migrate(database, { migrationsFolder: MIGRATIONS_FOLDER });
    if (isSpread) await distributeTables(database);
  } finally {
    await client.end();
  }
}

/** Throws SchemaVersionError if the database is older or newer than this program. */
export async function checkSchemaVersion(database: Database): Promise<void> {
  const { applied, known } = await readMigrationCounts(database);
  if (applied !== known) throw new SchemaVersionError(applied, known);
}

export class SchemaVersionError extends Error {
  override name = 'SchemaVersionError';

  constructor(appliedCount: number, knownCount: number) {
    super(
      appliedCount > knownCount
        ? `The database has schema version ${appliedCount}, this program knows ${knownCount}: install the newer recount that migrated it`
        : `The database has schema version ${appliedCount}, this program needs ${knownCount}: run \`recount migrate\` first`,
    );
  }
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

/** SQL_ASCII, too, is refused: it takes any bytes, and compares letters outside of ASCII as bytes. */
async function checkEncoding(database: Database): Promise<void> {
  const { rows } = await database.execute<{ name: string; encoding: string }>(sql`
    SELECT datname AS name, pg_encoding_to_char(encoding) AS encoding FROM pg_database WHERE datname = current_database()`);
  const { name = '', encoding = '' } = rows[0] ?? {};
  if (encoding !== 'UTF8') throw new DatabaseEncodingError(name, encoding);
}

async function readMigrationCounts(database: Database): Promise<{ applied: number; known: number }> {
  const journal = JSON.parse(await readFile(`${MIGRATIONS_FOLDER}/meta/_journal.json`, 'utf8')) as {
    entries: unknown[];
  };
  const { rows: found } = await database.execute<{ exists: boolean }>(
    sql`SELECT to_regclass('drizzle.__drizzle_migrations') IS NOT NULL AS exists`,
  );
  if (!found[0]?.exists) return { applied: 0, known: journal.entries.length };
  const { rows } = await database.execute<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM drizzle.__drizzle_migrations`,
  );
  return { applied: rows[0]?.count ?? 0, known: journal.entries.length };
}
