import { availableParallelism, hostname } from 'node:os';
import { resolve } from 'node:path';
import { readApiConfig, startApi } from '@recount/api';
import {
  createApiKey,
  type DatabasePool,
  ensureWorkspace,
  listApiKeys,
  listWorkspaces,
  makeOperator,
  revokeApiKey,
} from '@recount/db';
import { requeueOutdated } from '@recount/ingest';
import { readWorkerConfig } from '@recount/worker';
import { ulid } from 'ulid';
import { DEFAULT_WORKSPACE, type OpenInstallation, openInstallation } from '../connection/open-installation.ts';
import { type Credentials, readCredentials, writeCredentials } from '../data-directory/credentials.ts';
import type { DataDirectory } from '../data-directory/data-directory.ts';
import { type CliContext, note } from '../terminal/cli-context.ts';
import { formatCountOf } from '../terminal/format-values.ts';
import { provideDashboard } from './build-dashboard.ts';
import { findPort } from './find-port.ts';
import type { LocalLog } from './local-log.ts';
import { type LocalDatabase, startDatabase } from './start-database.ts';
import { superviseWorkers, WORKER_MARGIN_MS } from './worker-process.ts';

export interface InstallationOptions {
  host: string;
  port: number;
  /** True if no other port may be used. */
  isPortFixed: boolean;
  /** True if it ends when everything is ingested, without anyone using the dashboard. */
  isOnce: boolean;
  /** Called if a part ended and cannot be restarted. The installation is unusable. */
  onGiveUp(error: Error): void;
}

export interface LocalInstallation extends Credentials {
  url: string;
  /** Opens the dashboard signed in, once; undefined if other machines can reach it, or the key is not valid. */
  signInUrl: string | undefined;
  /** The same for another key. */
  createSignInUrl(apiKey: string): Promise<string | undefined>;
  databaseUrl: string;
  /** The place of the data, for people. */
  databasePlace: string;
  /** True if it runs PostgreSQL itself. */
  isOwnDatabase: boolean;
  rawStore: string;
  connections: OpenInstallation;
  /** Stops what it started, in order; nothing acknowledged is lost. */
  close(): Promise<void>;
}

const LOOPBACK_HOSTS = new Set(['127.0.0.1', '::1', 'localhost']);
const GRACE_MS = 10_000;

/**
 * Starts everything: PostgreSQL, raw store, workers, and the API in this process. A worker is a separate process with
 * its own processor and heap, so that a huge transcript neither slows down the API nor crashes it.
 */
export async function startInstallation(
  context: CliContext,
  directory: DataDirectory,
  log: LocalLog,
  options: InstallationOptions,
  signal: AbortSignal,
): Promise<LocalInstallation> {
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) await closer();
  };
  const opened = <Part>(part: Part, stop: (part: Part) => Promise<void>): Part => {
    closers.push(() => stop(part));
    signal.throwIfAborted();
    return part;
  };
  try {
    const events = { onWarning: (line: string) => log.logger.error(line), onGiveUp: options.onGiveUp };
    const database = opened(await startDatabase(context, directory, log.logger, events), ({ stop }) => stop());
    const { databaseUrl, place } = database;
    const port = await findPort(options.host, options.port, options.isPortFixed);
    if (port !== options.port && options.port !== 0)
      note(context, `Port ${options.port} is in use; using ${port} instead.`);
    const dashboard = options.isOnce ? undefined : await provideDashboard((line) => note(context, line));
    const environment = {
      ...(dashboard !== undefined && { RECOUNT_DASHBOARD_DIRECTORY: dashboard }),
      ...toServiceEnvironment(context, directory, database, { ...options, port }),
    };
    const apiConfig = readApiConfig(environment);
    const defaultProcesses = toWorkerProcesses(availableParallelism());
    const { processes, metrics, shutdownGraceMs } = readWorkerConfig(environment, defaultProcesses);
    const graceMs = shutdownGraceMs + WORKER_MARGIN_MS;
    const workerOptions = { environment, graceMs, processes, metricsPort: metrics?.port };
    opened(superviseWorkers(log, workerOptions, events), (workers) => workers.close());
    const connections = opened(await openInstallation(apiConfig), (each) => each.close());
    await warnOfEmptyDatabase(context, connections);
    const credentials = await provideCredentials(connections.database, directory, {
      name: toKeyName(context, directory),
      isOperator: database.directory !== undefined,
    });
    await readAnew(context, connections);
    const { url, createSignInLink } = opened(await startApi(apiConfig, log.logger), (api) => api.close());
    const isLocal = LOOPBACK_HOSTS.has(options.host);
    if (!isLocal) {
      note(context, `Listening on ${options.host}: other machines can reach it, with an API key.`);
    }
    const rawStore = apiConfig.rawStore.location;
    const createSignInUrl = async (apiKey: string): Promise<string | undefined> => {
      const link = isLocal ? await createSignInLink(apiKey) : undefined;
      return link && url + link;
    };
    const signInUrl = await createSignInUrl(credentials.apiKey);
    const isOwnDatabase = database.directory !== undefined;
    const places = { databaseUrl, databasePlace: place, isOwnDatabase, rawStore };
    return { ...credentials, url, signInUrl, createSignInUrl, ...places, connections, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** PostgreSQL takes as much processor time as its workers. */
const toWorkerProcesses = (cores: number): number => Math.max(1, Math.floor(cores / 2));

/** The settings of API and worker, from the environment, except for what makes the installation local. */
function toServiceEnvironment(
  { environment, workingDirectory }: CliContext,
  directory: DataDirectory,
  database: LocalDatabase,
  { host, port }: { host: string; port: number },
): NodeJS.ProcessEnv {
  const { RECOUNT_RAW_STORE: rawStore } = environment;
  const isUrl = rawStore !== undefined && /^[a-z0-9]+:\/\//i.test(rawStore);
  return {
    RECOUNT_SHUTDOWN_GRACE_MS: String(GRACE_MS),
    ...(database.directory !== undefined && { RECOUNT_DATABASE_DIRECTORY: database.directory }),
    ...environment,
    DATABASE_URL: database.databaseUrl,
    RECOUNT_RAW_STORE: isUrl ? rawStore : rawStore ? resolve(workingDirectory, rawStore) : directory.rawStore,
    RECOUNT_HOST: host,
    RECOUNT_PORT: String(port),
  };
}

/** After an upgrade, rows of an older parser lack what this version counts. */
async function readAnew(context: CliContext, connections: OpenInstallation): Promise<void> {
  let count = 0;
  for (const { id } of await listWorkspaces(connections.database.database)) {
    for await (const _transcriptId of requeueOutdated(connections, id)) count += 1;
  }
  if (count > 0) note(context, `${formatCountOf(count, 'transcript')} from an older version are being read again.`);
}

/** A new database with an old raw store. The old database was lost, or is elsewhere. */
async function warnOfEmptyDatabase(context: CliContext, { database, rawStore }: OpenInstallation): Promise<void> {
  if ((await listWorkspaces(database.database)).length > 0) return;
  for await (const _object of rawStore.list('workspaces/')) {
    note(
      context,
      'warning: the database is new, but the raw store holds transcripts of an earlier one. If that is lost, ' +
        '`recount doctor --rebuild` restores it from them.',
    );
    return;
  }
}

/** A database of DATABASE_URL may serve several installations, each with its own key. */
function toKeyName({ environment }: CliContext, { path }: DataDirectory): string {
  return environment.DATABASE_URL ? `recount up in ${hostname()}:${path}` : 'recount up';
}

/**
 * The key of earlier starts, or a new one if that was revoked, lost, or belongs to a database that is gone. A new key
 * replaces those with its name, so that a lost one is useless to anyone who finds it. `isOperator` is true if the
 * database belongs only to this data directory. Anyone who can read the key there has the database, too.
 */
async function provideCredentials(
  { database, withTransaction }: DatabasePool,
  { credentials: path }: DataDirectory,
  { name, isOperator }: { name: string; isOperator: boolean },
): Promise<Credentials> {
  const { id: workspaceId } = await ensureWorkspace(database, ulid(), DEFAULT_WORKSPACE);
  const known = await readCredentials(path);
  const keys = await listApiKeys(database, workspaceId);
  const isValid = keys.some(({ id, revoked_at }) => id === known?.keyId && revoked_at === null);
  if (known?.workspaceId === workspaceId && isValid) {
    // A key from before that scope existed.
    if (isOperator) await withTransaction((transaction) => makeOperator(transaction, workspaceId, known.keyId));
    return known;
  }
  const scopes = ['ingest', 'read', 'admin', ...(isOperator ? ['operator' as const] : [])] as const;
  const { id, key } = await withTransaction(async (transaction) => {
    for (const earlier of keys) {
      if (earlier.name === name) await revokeApiKey(transaction, workspaceId, earlier.id);
    }
    return await createApiKey(transaction, { workspaceId, name, scopes });
  });
  const credentials = { workspaceId, keyId: id, apiKey: key };
  await writeCredentials(path, credentials);
  return credentials;
}
