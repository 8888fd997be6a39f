import {
  checkSchemaVersion,
  createDatabasePool,
  type DatabasePool,
  ensureWorkspace,
  findWorkspaceByName,
} from '@recount/db';
import type { IngestDependencies } from '@recount/ingest';
import type { RawStoreConfig } from '@recount/service/config';
import type { RawStore } from '@recount/storage';
import { ulid } from 'ulid';
import { toDataDirectory } from '../data-directory/data-directory.ts';
import { findRunning } from '../data-directory/installation-lock.ts';
import { type CliContext, note, START_COMMAND } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';

/** Connections to all parts of an installation. */
export interface OpenInstallation extends IngestDependencies {
  database: DatabasePool;
  rawStore: RawStore;
  close(): Promise<void>;
}

interface InstallationConfig {
  databaseUrl: string;
  rawStore: RawStoreConfig;
}

export const DEFAULT_WORKSPACE = 'default';
const MAX_CONNECTIONS = 8;

/**
 * From DATABASE_URL and RECOUNT_RAW_STORE, or else the local installation, which must be running. Throws ConfigError,
 * CliError.
 */
export async function findInstallationConfig(context: CliContext): Promise<InstallationConfig> {
  const { readRawStoreConfig, readServiceConfig } = await import('@recount/service/config');
  if (context.environment.DATABASE_URL) return readServiceConfig(context.environment);
  const { databaseUrl, rawStore } = await findLocalPlace(context);
  return { databaseUrl, rawStore: readRawStoreConfig({ ...context.environment, RECOUNT_RAW_STORE: rawStore }) };
}

/** Like `findInstallationConfig`, for commands that need only the database. */
export async function findDatabaseUrl(context: CliContext): Promise<string> {
  return context.environment.DATABASE_URL || (await findLocalPlace(context)).databaseUrl;
}

/** The address of the local installation's dashboard; undefined if none runs, or DATABASE_URL names another database. */
export async function findDashboardUrl(context: CliContext): Promise<string | undefined> {
  if (context.environment.DATABASE_URL) return undefined;
  return (await findRunning(toDataDirectory(context).lock))?.url;
}

async function findLocalPlace(context: CliContext): Promise<{ databaseUrl: string; rawStore: string }> {
  const { lock } = toDataDirectory(context);
  const { url, databaseUrl, rawStore } = (await findRunning(lock)) ?? {};
  if (databaseUrl === undefined || rawStore === undefined) {
    throw new CliError(`No database. Start the local installation with \`${START_COMMAND}\`, or set DATABASE_URL.`);
  }
  note(context, `Using the local installation at ${url}`);
  return { databaseUrl, rawStore };
}

/** Connects to database and raw store. Throws SchemaVersionError if the database is not migrated. */
export async function openInstallation(config: InstallationConfig): Promise<OpenInstallation> {
  // Loaded on demand, because commands that need only the database are faster without it.
  const { createRawStore } = await import('@recount/storage');
  const { databaseUrl: connectionString } = config;
  // The next query fails too, so no one else needs to know.
  const onError = (): void => undefined;
  const database = createDatabasePool({
    connectionString,
    maxConnections: MAX_CONNECTIONS,
    preparesStatements: true,
    onConnectionError: onError,
  });
  const rawStore = await createRawStore(config.rawStore.location, config.rawStore.s3);
  try {
    await checkSchemaVersion(database.database);
  } catch (error) {
    await Promise.allSettled([database.close(), rawStore.close()]);
    throw error;
  }
  return {
    database,
    rawStore,
    async close() {
      await Promise.allSettled([database.close(), rawStore.close()]);
    },
  };
}

/** Runs something with database and raw store. Throws like `findInstallationConfig` and `openInstallation`. */
export async function withInstallation<Result>(
  context: CliContext,
  run: (installation: OpenInstallation, config: InstallationConfig) => Promise<Result>,
): Promise<Result> {
  const config = await findInstallationConfig(context);
  const installation = await openInstallation(config);
  try {
    return await run(installation, config);
  } finally {
    await installation.close();
  }
}

/** The workspace of that name. Only the default one is created if missing; otherwise throws CliError. */
export async function findWorkspace({ database }: DatabasePool, name: string): Promise<string> {
  const workspace =
    name === DEFAULT_WORKSPACE
      ? await ensureWorkspace(database, ulid(), name)
      : await findWorkspaceByName(database, name);
  if (workspace === undefined) {
    throw new CliError(
      `There is no workspace ${name}. \`recount keys create --workspace ${name} --name KEY\` creates it.`,
    );
  }
  return workspace.id;
}

/** Runs something with only the database. */
export async function withDatabase<Result>(
  context: CliContext,
  run: (database: DatabasePool) => Promise<Result>,
): Promise<Result> {
  const connectionString = await findDatabaseUrl(context);
  const database = createDatabasePool({ connectionString, maxConnections: 2 });
  try {
    await checkSchemaVersion(database.database);
    return await run(database);
  } finally {
    await database.close();
  }
}
