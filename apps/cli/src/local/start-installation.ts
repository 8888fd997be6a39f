import { resolve } from 'node:path';
import { readApiConfig, startApi } from '@recount/api';
import { createApiKey, type DatabasePool, ensureWorkspace, listApiKeys, listWorkspaces } from '@recount/db';
import { requeueOutdated } from '@recount/ingest';
import { readWorkerConfig } from '@recount/worker';
import { ulid } from 'ulid';
import { type CliContext, note } from '../cli-context.ts';
import { DEFAULT_WORKSPACE, type OpenInstallation, openInstallation } from '../connection/open-installation.ts';
import { type Credentials, readCredentials, writeCredentials } from './credentials.ts';
import type { DataDirectory } from './data-directory.ts';
import { findPort } from './find-port.ts';
import type { LocalLog } from './local-log.ts';
import { startDatabase } from './start-database.ts';
import { startWorkerProcess } from './worker-process.ts';

export interface InstallationOptions {
  host: string;
  port: number;
  /** Whether no other port will do. */
  isPortFixed: boolean;
}

export interface LocalInstallation extends Credentials {
  url: string;
  databaseUrl: string;
  /** For people: where the data are. */
  databasePlace: string;
  rawStore: string;
  connections: OpenInstallation;
  /** Ends what it started, in order: nothing that was acknowledged is lost. */
  close(): Promise<void>;
}

const LOOPBACK_HOSTS = new Set(['127.0.0.1', '::1', 'localhost']);
const GRACE_MS = 10_000;
/** What a worker has to end in, beyond its own grace time. */
const WORKER_MARGIN_MS = 5000;

/**
 * Starts everything: PostgreSQL, raw store, worker, and the API in this process. The worker is a process of its own: it has a
 * processor and a heap to itself, so that a huge transcript neither slows down the API nor takes it along.
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
    const { databaseUrl, place } = opened(await startDatabase(context, directory, log.logger), ({ stop }) => stop());
    const port = await findPort(options.host, options.port, options.isPortFixed);
    if (port !== options.port && options.port !== 0) note(context, `Port ${options.port} is taken, so it is ${port}.`);
    const environment = toServiceEnvironment(context, directory, databaseUrl, { ...options, port });
    const apiConfig = readApiConfig(environment);
    const { shutdownGraceMs } = readWorkerConfig(environment);
    opened(
      startWorkerProcess(log, {
        environment,
        graceMs: shutdownGraceMs + WORKER_MARGIN_MS,
        onDeath: (line) => log.logger.error(line),
      }),
      (worker) => worker.close(),
    );
    const connections = opened(await openInstallation(apiConfig), (each) => each.close());
    const credentials = await provideCredentials(connections.database, directory.credentials);
    await readAnew(context, connections);
    const { url } = opened(await startApi(apiConfig, log.logger), (api) => api.close());
    if (!LOOPBACK_HOSTS.has(options.host)) {
      note(context, `Listening on ${options.host}: other machines can reach it, with an API key.`);
    }
    const rawStore = apiConfig.rawStore.location;
    return { ...credentials, url, databaseUrl, databasePlace: place, rawStore, connections, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The settings of API and worker: those of the environment, but for what makes the installation a local one. */
function toServiceEnvironment(
  { environment, workingDirectory }: CliContext,
  directory: DataDirectory,
  databaseUrl: string,
  { host, port }: { host: string; port: number },
): NodeJS.ProcessEnv {
  const { RECOUNT_RAW_STORE: rawStore } = environment;
  const isUrl = rawStore !== undefined && /^[a-z0-9]+:\/\//i.test(rawStore);
  return {
    RECOUNT_SHUTDOWN_GRACE_MS: String(GRACE_MS),
    ...environment,
    DATABASE_URL: databaseUrl,
    RECOUNT_RAW_STORE: isUrl ? rawStore : rawStore ? resolve(workingDirectory, rawStore) : directory.rawStore,
    RECOUNT_HOST: host,
    RECOUNT_PORT: String(port),
  };
}

/** After an upgrade: rows of an older parser lack what this version counts. */
async function readAnew(context: CliContext, connections: OpenInstallation): Promise<void> {
  let count = 0;
  for (const { id } of await listWorkspaces(connections.database.database)) {
    for await (const _transcriptId of requeueOutdated(connections, id)) count += 1;
  }
  if (count > 0) note(context, `${count} transcripts were read by an older recount; they are being read anew.`);
}

/** The key of earlier starts, or a new one where that was revoked, or belongs to a database that is gone. */
async function provideCredentials({ database }: DatabasePool, path: string): Promise<Credentials> {
  const { id: workspaceId } = await ensureWorkspace(database, ulid(), DEFAULT_WORKSPACE);
  const known = await readCredentials(path);
  const keys = await listApiKeys(database, workspaceId);
  const isValid = keys.some(({ id, revoked_at }) => id === known?.keyId && revoked_at === null);
  if (known?.workspaceId === workspaceId && isValid) return known;
  const { id, key } = await createApiKey(database, {
    workspaceId,
    name: 'recount up',
    scopes: ['ingest', 'read', 'admin'],
  });
  const credentials = { workspaceId, keyId: id, apiKey: key };
  await writeCredentials(path, credentials);
  return credentials;
}
