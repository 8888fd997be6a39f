import type { AddressInfo } from 'node:net';
import { SIGN_IN_LINK_MS } from '@recount/contract/access';
import {
  checkSchemaVersion,
  createDatabasePool,
  createSignInLink,
  type DatabasePool,
  findKeyHolder,
  hashApiKey,
} from '@recount/db';
import { openPriceFile } from '@recount/ingest';
import { noTracing, startTracing, type Tracing } from '@recount/service/telemetry';
import { limitRepeats } from '@recount/service/telemetry/limit-repeats';
import { startMetricsServer } from '@recount/service/telemetry/metrics-server';
import { createRawStore, type RawStore } from '@recount/storage';
import type { Logger } from 'pino';
import { createApiApp } from './app.ts';
import type { ApiConfig } from './config.ts';
import { createMetrics } from './metrics/metrics.ts';
import { toLogReason } from './problems/problem-error.ts';

export interface RunningApi {
  /** The listen address, e.g. `http://127.0.0.1:7878`; for a wildcard address, its address on this machine. */
  url: string;
  /** The path and fragment of a page that signs in with `apiKey`, once, within a day; undefined if the key is not valid. */
  createSignInLink(apiKey: string): Promise<string | undefined>;
  /** Accepts no more requests, lets running ones finish within the grace period, then closes their connections. */
  close(): Promise<void>;
}

/**
 * Starts the API. Throws if the database cannot be reached or has another schema version, and if a port is in use;
 * later outages are logged and answered with 503, and the API recovers from them.
 */
export async function startApi(config: ApiConfig, log: Logger): Promise<RunningApi> {
  const logError = limitRepeats((line) => log.error(line, 'connection error'));
  const onError = (error: Error): void => logError(toLogReason(error));
  const database = createDatabasePool({
    connectionString: config.databaseUrl,
    maxConnections: config.maxConnections,
    applicationName: 'recount api',
    onConnectionError: onError,
  });
  const rawStore = await createRawStore(config.rawStore.location, config.rawStore.s3);
  const onLostSpans = (reason: string): void => log.warn({ reason }, 'spans not sent');
  const tracing = config.isTraced
    ? await startTracing({ serviceName: 'recount-api', onError: onLostSpans })
    : noTracing;
  const metrics = createMetrics({ database, log });
  let metricsServer: { close(): Promise<void> } | undefined;
  let priceSource: Awaited<ReturnType<typeof openPriceFile>>;
  const closeConnections = async (): Promise<void> => {
    priceSource?.close();
    await Promise.allSettled([database.close(), rawStore.close(), tracing.close(), metricsServer?.close()]);
  };
  try {
    await checkSchemaVersion(database.database);
    priceSource = await openPriceFile(config.priceFile, log);
    const app = await createApiApp(
      { database, rawStore: traceStore(rawStore, tracing), tracing, log, metrics, priceSource },
      config,
    );
    if (config.metrics) metricsServer = await startMetricsServer(metrics, config.metrics);
    await app.listen({ host: config.host, port: config.port, listenTextResolver: () => 'api listening' });
    const url = toUrl(app.server.address() as AddressInfo);
    log.info({ url }, 'api ready');
    return {
      url,
      createSignInLink: (apiKey) => createLink(database, apiKey),
      async close() {
        const timer = setTimeout(() => app.server.closeAllConnections(), config.shutdownGraceMs);
        await app.close();
        clearTimeout(timer);
        await closeConnections();
      },
    };
  } catch (error) {
    await closeConnections();
    throw error;
  }
}

/** Signs in without a question: the person who started the server opens it. */
async function createLink({ database, withTransaction }: DatabasePool, apiKey: string): Promise<string | undefined> {
  const holder = await findKeyHolder(database, hashApiKey(apiKey));
  if (holder === undefined) return undefined;
  const { workspaceId, keyId } = holder;
  const validMs = SIGN_IN_LINK_MS.default;
  const request = { workspaceId, keyId, validMs, actor: 'system', by: null, endsAt: null } as const;
  const link = await withTransaction((transaction) => createSignInLink(transaction, request));
  return typeof link === 'string' ? undefined : `/sign-in#${link.code}`;
}

/** Adds a span for the step of an upload that depends on another system than the database. */
const traceStore = (rawStore: RawStore, tracing: Tracing): RawStore => ({
  ...rawStore,
  put: (...put) => tracing.span('store', {}, () => rawStore.put(...put)),
});

function toUrl({ address, family, port }: AddressInfo): string {
  if (address === '0.0.0.0') return `http://127.0.0.1:${port}`;
  if (address === '::') return `http://[::1]:${port}`;
  return family === 'IPv6' ? `http://[${address}]:${port}` : `http://${address}:${port}`;
}
