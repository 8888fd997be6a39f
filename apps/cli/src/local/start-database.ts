import { migrateDatabase } from '@recount/db';
import { startLocalPostgres } from '@recount/local-postgres';
import { migrateQueue } from '@recount/queue';
import type { Logger } from 'pino';
import { type CliContext, note } from '../cli-context.ts';
import type { DataDirectory } from './data-directory.ts';

export interface LocalDatabase {
  databaseUrl: string;
  /** For people: where the data are. */
  place: string;
  stop(): Promise<void>;
}

/** The database of DATABASE_URL, else a PostgreSQL of its own in the data directory; migrated. */
export async function startDatabase(
  context: CliContext,
  directory: DataDirectory,
  log: Logger,
): Promise<LocalDatabase> {
  const { DATABASE_URL: configured } = context.environment;
  const database = configured ? toConfigured(configured) : await startOwn(context, directory, log);
  try {
    await migrateDatabase(database.databaseUrl);
    await migrateQueue(database.databaseUrl);
    return database;
  } catch (error) {
    await database.stop();
    throw error;
  }
}

function toConfigured(databaseUrl: string): LocalDatabase {
  return { databaseUrl, place: 'that of DATABASE_URL', stop: async () => {} };
}

async function startOwn(context: CliContext, directory: DataDirectory, log: Logger): Promise<LocalDatabase> {
  note(context, 'Starting PostgreSQL …');
  const postgres = await startLocalPostgres({
    directory: directory.postgres,
    onLog: (line) => log.info({ line }, 'postgres'),
  });
  return { databaseUrl: postgres.connectionString, place: postgres.directory, stop: () => postgres.stop() };
}
