import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, toDatabaseUrl, withClient } from './databases.ts';
import { LocalPostgresError, useYourOwnDatabase } from './local-postgres-error.ts';
import { providePostgresPrograms } from './postgres-binaries.ts';
import { type PostgresCluster, provideCluster, readCluster, superuser } from './postgres-cluster.ts';
import { preparePostgresDirectory } from './postgres-directory.ts';
import { createInvisibleHolderError, hasVisibleHolder, takePostgresLock } from './postgres-locks.ts';
import { clearPostmaster, findPostmaster, isPostmasterOf, stopPostmaster, waitForExit } from './postmaster.ts';
import type { ProcessLock } from './process-lock.ts';
import { provideServerAccount, type ServerAccount } from './server-account.ts';
import { findFreePort, spawnPostgres } from './spawn-postgres.ts';

const databaseName = 'recount';
const defaultStartTimeoutMs = 60_000;
const startAttempts = 4;
const retryDelayMs = 250;
const firstPollIntervalMs = 20;
const maxPollIntervalMs = 500;
/** A start without recovery takes a fraction of that. */
const recoveryNoteDelayMs = 3_000;
const watchIntervalMs = 500;
/** A lock that changes hands still has the note of its earlier holder for a moment. */
const noteGraceMs = 2_000;
const authenticationFailures = ['28P01', '28000'];
/** With cannot_connect_now, the server runs, but is recovering or shutting down. */
const notYet = '57P03';
/** duplicate_database, and unique_violation in the catalogue if two processes create it at the same moment. */
const alreadyThere = ['42P04', '23505'];

export interface StartLocalPostgresOptions {
  /** The cluster's place, created or from an earlier start. It must hold nothing else. */
  directory: string;
  /** The folder of the programs if they are not installed beside this package. See `installNativePackage`. */
  programsDirectory?: string;
  /** Receives each line of the server's log, without row values. Not called for a server that was already running. */
  onLog?: (line: string) => void;
  /** Server settings by name, such as `{ fsync: 'off' }`. Not applied to a server that was already running. */
  settings?: Readonly<Record<string, string>>;
  /** Called once if the server recovers from a crash and is not done after 3 s. Recovery can take minutes. */
  onRecovery?: () => void;
  /** The port to listen on. Defaults to any free one. A server that was already running keeps its port. */
  port?: number;
  /**
   * Time limit for initdb, for waiting for what an earlier server left running, and for the server to answer, each
   * separately. Default 60,000. Recovery from a crash has no limit.
   */
  startTimeoutMs?: number;
}

export interface LocalPostgres {
  /** For the database `recount`, with the user and password of the cluster's superuser. */
  connectionString: string;
  /** On 127.0.0.1. Different after each start. */
  port: number;
  /** The cluster's actual location; see choosePostgresDirectory. */
  directory: string;
  /**
   * Stops the server, ending all its sessions; resolves once it is gone, at most 30 s later. Idempotent. A server that
   * another living process started is left running.
   */
  stop(): Promise<void>;
  /** Resolves once the server is gone for any reason, to the reason if available, such as `SIGKILL`. */
  waitForExit(): Promise<string>;
}

interface RunningServer {
  cluster: PostgresCluster;
  pid: number;
  port: number;
  /** Undefined for a server that was already running. */
  exited?: Promise<string>;
  logTail(): string;
}

interface ServerOptions {
  programsDirectory: string;
  account: ServerAccount | undefined;
  settings: Readonly<Record<string, string>>;
  onLog: (line: string) => void;
  onRecovery: () => void;
  port: number | undefined;
  timeoutMs: number;
}

function toServerUrl(port: number, password: string): string {
  return `postgres://${superuser}:${password}@127.0.0.1:${port}/postgres`;
}

/** Starts a server, which takes over the lock. Its holder knows that no process has the cluster's files open. */
async function spawnServer(directory: string, lock: ProcessLock, options: ServerOptions): Promise<RunningServer> {
  const { programsDirectory, account, settings, onLog, timeoutMs } = options;
  try {
    const syncToDisk = settings.fsync !== 'off';
    const cluster = await provideCluster(directory, { programsDirectory, account, timeoutMs, syncToDisk });
    const { dataDirectory } = cluster;
    await clearPostmaster(dataDirectory);
    const port = options.port ?? (await findFreePort());
    const spawnOptions = { programsDirectory, account, dataDirectory, port, settings, onLog, lockFd: lock.fd };
    return { ...(await spawnPostgres(spawnOptions)), cluster, port };
  } finally {
    lock.release();
  }
}

async function findServer(directory: string): Promise<RunningServer | undefined> {
  const cluster = await readCluster(directory);
  const found = cluster && (await findPostmaster(cluster.dataDirectory));
  return found && { ...found, cluster, logTail: () => '' };
}

const toErrorCode = (error: unknown): string => String((error as { code?: unknown }).code);

/** Waits for the first connection, without limit while the server recovers. False if it exited instead. */
async function acceptsConnections(server: RunningServer, { timeoutMs, onRecovery }: ServerOptions): Promise<boolean> {
  const { cluster } = server;
  let deadline = performance.now() + timeoutMs;
  let pollIntervalMs = firstPollIntervalMs;
  let recoveringSince: number | undefined;
  let isNoted = false;
  for (;;) {
    try {
      await withClient(toServerUrl(server.port, cluster.password), (client) => client.query('SELECT'));
      return true;
    } catch (cause) {
      const code = toErrorCode(cause);
      await sleep(pollIntervalMs);
      pollIntervalMs = Math.min(pollIntervalMs * 1.2, maxPollIntervalMs);
      if (!(await isPostmasterOf(cluster.dataDirectory, server.pid))) return false;
      const now = performance.now();
      if (code === notYet) {
        deadline = now + timeoutMs;
        recoveringSince ??= now;
        if (!isNoted && now - recoveringSince > recoveryNoteDelayMs) {
          isNoted = true;
          onRecovery();
        }
      }
      const isRefused = authenticationFailures.includes(code);
      if (!isRefused && now < deadline) continue;
      if (server.exited !== undefined) await stopPostmaster(cluster.dataDirectory, server.pid);
      const reason = isRefused ? 'does not accept its password' : `accepts no connection within ${timeoutMs} ms`;
      throw new LocalPostgresError(`PostgreSQL in ${cluster.dataDirectory} ${reason}.\n${server.logTail()}`, { cause });
    }
  }
}

/**
 * Finds a server that runs on the directory, or starts one. Retries if the port was in use, if another process is
 * starting or stopping a server, and while backends outlive their server.
 */
async function provideServer(
  directory: string,
  options: ServerOptions,
): Promise<{ server: RunningServer; owner: ProcessLock | undefined }> {
  const startedAt = performance.now();
  let owner: ProcessLock | undefined;
  let failedStarts = 0;
  try {
    for (;;) {
      owner ??= takePostgresLock(directory, 'owner.lock');
      const lock = owner && takePostgresLock(directory, 'cluster.lock');
      const heldLock = owner === undefined ? 'owner.lock' : 'cluster.lock';
      const isHidden = lock === undefined && !hasVisibleHolder(directory, heldLock);
      let server: RunningServer | undefined;
      if (lock !== undefined) server = await spawnServer(directory, lock, options);
      else if (!isHidden) server = await findServer(directory);
      if (server !== undefined && (await acceptsConnections(server, options))) return { server, owner };
      if (lock !== undefined) failedStarts += 1;
      const elapsedMs = performance.now() - startedAt;
      if (isHidden && elapsedMs > noteGraceMs) throw createInvisibleHolderError(directory, heldLock);
      if (failedStarts === startAttempts) throw toStartError(directory, server?.logTail() ?? '');
      if (server === undefined && elapsedMs > options.timeoutMs) {
        const note = `Some process still has ${directory}/${heldLock} open; \`fuser\` or \`lsof\` on that file finds it.`;
        throw toStartError(directory, note);
      }
      await sleep(retryDelayMs);
    }
  } catch (error) {
    owner?.release();
    throw error;
  }
}

function toStartError(directory: string, reason: string): LocalPostgresError {
  return new LocalPostgresError(`PostgreSQL in ${directory} does not start:\n${reason}\n${useYourOwnDatabase}`);
}

async function provideDatabase(serverUrl: string): Promise<string> {
  const { rowCount } = await withClient(serverUrl, (client) =>
    client.query('SELECT FROM pg_database WHERE datname = $1', [databaseName]),
  );
  if (rowCount === 1) return toDatabaseUrl(serverUrl, databaseName);
  try {
    return await createDatabase(serverUrl, databaseName);
  } catch (error) {
    // Another process that started at the same moment was faster.
    if (!alreadyThere.includes(toErrorCode(error))) throw error;
    return toDatabaseUrl(serverUrl, databaseName);
  }
}

/**
 * Runs a real PostgreSQL on 127.0.0.1 with persistent data, and creates the database `recount` in it.
 *
 * A server that still runs on the directory is used. If its starter was killed, this process becomes responsible for
 * stopping it; if its starter lives, it is shared. If this process ends without stop(), the server gets a signal to
 * stop, except that SIGKILL leaves it running. Kernel locks ensure that a cluster never has two servers.
 *
 * @throws LocalPostgresError on a platform without bundled programs, if the programs, initdb or the server fail, and if
 * the cluster is used by a server that this process cannot see, such as one in another container
 * @throws ProcessLockError if the file system has no locks
 */
export async function startLocalPostgres(options: StartLocalPostgresOptions): Promise<LocalPostgres> {
  const {
    onLog = () => {},
    onRecovery = () => {},
    settings = {},
    startTimeoutMs = defaultStartTimeoutMs,
    port,
  } = options;
  const account = await provideServerAccount(process.getuid?.());
  const programsDirectory = await providePostgresPrograms(account, options.programsDirectory);
  const directory = await preparePostgresDirectory(options.directory, account);
  const serverOptions = { programsDirectory, account, settings, onLog, onRecovery, port, timeoutMs: startTimeoutMs };
  const { server, owner } = await provideServer(directory, serverOptions);
  const { password, dataDirectory } = server.cluster;
  // There is nothing left to stop. The next server may be anyone's.
  server.exited?.then(() => owner?.release());
  const stopServer = async () => {
    if (owner === undefined) return;
    await stopPostmaster(dataDirectory, server.pid);
    owner.release();
  };
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= stopServer();
    return stopped;
  };
  const waitUntilGone = async () => {
    await waitForExit(dataDirectory, server.pid, Number.POSITIVE_INFINITY, watchIntervalMs);
    return 'gone';
  };
  try {
    const connectionString = await provideDatabase(toServerUrl(server.port, password));
    return {
      connectionString,
      port: server.port,
      directory,
      stop,
      waitForExit: () => server.exited ?? waitUntilGone(),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
