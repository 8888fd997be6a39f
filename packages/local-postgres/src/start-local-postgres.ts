import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, toDatabaseUrl, withClient } from './databases.ts';
import { findFreePort } from './free-port.ts';
import { LocalPostgresError, useYourOwnDatabase } from './local-postgres-error.ts';
import { providePostgresPrograms } from './postgres-binaries.ts';
import { type PostgresCluster, provideCluster, superuser } from './postgres-cluster.ts';
import { findPostmaster, isPostmasterOf, stopPostmaster } from './postmaster.ts';
import { preparePostgresDirectory } from './prepare-postgres-directory.ts';
import { chooseServerAccount } from './server-account.ts';
import { becomeOwner, hasLivingOwner } from './server-owner.ts';
import { type SpawnPostgresOptions, spawnPostgres } from './spawn-postgres.ts';

const databaseName = 'recount';
const defaultStartTimeoutMs = 60_000;
const startAttempts = 4;
const retryDelayMs = 250;
const pollIntervalMs = 20;
const authenticationFailures = ['28P01', '28000'];
/** duplicate_database, and unique_violation in the catalogue where two create it at the same moment. */
const alreadyThere = ['42P04', '23505'];

export interface StartLocalPostgresOptions {
  /** The place for this cluster: created, or one of an earlier start. Nothing else may be in it. */
  directory: string;
  /** Receives each line of the server's log, without values from rows. Not called for a server that was found running. */
  onLog?: (line: string) => void;
  /** Server settings by name, such as `{ fsync: 'off' }`. They do not apply to a server that was found running. */
  settings?: Readonly<Record<string, string>>;
  /** Bound of initdb, and again of the wait for the first connection. Default 60,000. */
  startTimeoutMs?: number;
}

export interface LocalPostgres {
  /** Of the database `recount`, with the user and password of the cluster's superuser. */
  connectionString: string;
  /** On 127.0.0.1. Another one after each start. */
  port: number;
  /** Where the cluster really is; see choosePostgresDirectory. */
  directory: string;
  /**
   * Stops the server, ending all its sessions; resolves once it is gone, at most 30 s later. Calling it again changes nothing.
   * A server that another living process started is left running.
   */
  stop(): Promise<void>;
}

interface RunningServer {
  pid: number;
  port: number;
  /** False for a server that was found running. */
  isOurs: boolean;
  logTail(): string;
}

function toServerUrl(port: number, password: string): string {
  return `postgres://${superuser}:${password}@127.0.0.1:${port}/postgres`;
}

async function findOrSpawn(directory: string, options: Omit<SpawnPostgresOptions, 'port'>): Promise<RunningServer> {
  const found = await findPostmaster(options.dataDirectory);
  if (found !== undefined) return { ...found, isOurs: false, logTail: () => '' };
  const port = await findFreePort();
  const spawned = await spawnPostgres({ ...options, port });
  await becomeOwner(directory);
  return { ...spawned, port, isOurs: true };
}

/** Waits for the first connection. False where the server ended instead. */
async function acceptsConnections(
  cluster: PostgresCluster,
  server: RunningServer,
  timeoutMs: number,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      await withClient(toServerUrl(server.port, cluster.password), (client) => client.query('SELECT'));
      return true;
    } catch (cause) {
      await sleep(pollIntervalMs);
      if (!(await isPostmasterOf(cluster.dataDirectory, server.pid))) return false;
      const isRefused = authenticationFailures.includes(String((cause as { code?: unknown }).code));
      if (!isRefused && performance.now() < deadline) continue;
      if (server.isOurs) await stopPostmaster(cluster.dataDirectory, server.pid);
      const reason = isRefused ? 'does not accept its password' : `accepts no connection within ${timeoutMs} ms`;
      throw new LocalPostgresError(`PostgreSQL in ${cluster.dataDirectory} ${reason}.\n${server.logTail()}`, { cause });
    }
  }
}

/** Tries again where the port was taken, or another process starts or stops a server on the same data, at this moment. */
async function provideServer(
  directory: string,
  cluster: PostgresCluster,
  options: Omit<SpawnPostgresOptions, 'port' | 'dataDirectory'>,
  timeoutMs: number,
): Promise<RunningServer> {
  let logTail = '';
  for (let attempt = 1; attempt <= startAttempts; attempt += 1) {
    const server = await findOrSpawn(directory, { ...options, dataDirectory: cluster.dataDirectory });
    if (await acceptsConnections(cluster, server, timeoutMs)) return server;
    logTail = server.logTail();
    await sleep(retryDelayMs);
  }
  throw new LocalPostgresError(
    `PostgreSQL in ${cluster.dataDirectory} does not start:\n${logTail}\n${useYourOwnDatabase}`,
  );
}

async function provideDatabase(serverUrl: string): Promise<string> {
  const { rowCount } = await withClient(serverUrl, (client) =>
    client.query('SELECT FROM pg_database WHERE datname = $1', [databaseName]),
  );
  if (rowCount === 1) return toDatabaseUrl(serverUrl, databaseName);
  try {
    return await createDatabase(serverUrl, databaseName);
  } catch (error) {
    // Another process that starts at the same moment was first.
    if (!alreadyThere.includes(String((error as { code?: unknown }).code))) throw error;
    return toDatabaseUrl(serverUrl, databaseName);
  }
}

/**
 * Runs a real PostgreSQL on 127.0.0.1, on data that outlive the process, and creates the database `recount` in it.
 *
 * A server that still runs on the directory is used: one whose starter was killed becomes this process's to stop, one
 * whose starter lives is shared. Where this process ends without stop(), the server is told to stop, except that a
 * process killed by SIGKILL leaves it running.
 *
 * @throws LocalPostgresError on a platform without bundled programs, and where the programs, initdb or the server fail
 */
export async function startLocalPostgres(options: StartLocalPostgresOptions): Promise<LocalPostgres> {
  const { onLog = () => {}, settings = {}, startTimeoutMs = defaultStartTimeoutMs } = options;
  const account = chooseServerAccount(process.getuid?.());
  const programsDirectory = await providePostgresPrograms(account);
  const directory = await preparePostgresDirectory(options.directory, account);
  const cluster = await provideCluster(directory, {
    programsDirectory,
    account,
    timeoutMs: startTimeoutMs,
    syncToDisk: settings.fsync !== 'off',
  });
  const spawnOptions = { programsDirectory, account, settings, onLog };
  const server = await provideServer(directory, cluster, spawnOptions, startTimeoutMs);
  const isShared = !server.isOurs && (await hasLivingOwner(directory));
  if (!isShared) await becomeOwner(directory);
  const stopServer = async () => (isShared ? undefined : stopPostmaster(cluster.dataDirectory, server.pid));
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= stopServer();
    return stopped;
  };
  try {
    const connectionString = await provideDatabase(toServerUrl(server.port, cluster.password));
    return { connectionString, port: server.port, directory, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
