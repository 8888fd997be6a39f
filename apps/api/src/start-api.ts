import type { AddressInfo } from 'node:net';
import { checkSchemaVersion, createDatabasePool } from '@recount/db';
import { createJobQueue } from '@recount/queue';
import { createRawStore } from '@recount/storage';
import type { Logger } from 'pino';
import { createApiApp } from './app.ts';
import type { ApiConfig } from './config.ts';
import { toLogReason } from './problems/log-reason.ts';

export interface RunningApi {
  /** Where it listens, e.g. `http://127.0.0.1:7878`; for a wildcard address, where it is reached from this machine. */
  url: string;
  /** Accepts nothing more, lets requests under way end within the grace time, then closes their connections. */
  close(): Promise<void>;
}

/**
 * Starts the API. Throws where the database cannot be reached or has another schema version, and where the port is
 * taken; later outages are logged, answered with 503, and outlived.
 */
export async function startApi(config: ApiConfig, log: Logger): Promise<RunningApi> {
  const onError = (error: Error): void => log.error({ reason: toLogReason(error) }, 'connection error');
  const database = createDatabasePool({
    connectionString: config.databaseUrl,
    maxConnections: config.maxConnections,
    applicationName: 'recount api',
    onConnectionError: onError,
  });
  const rawStore = createRawStore(config.rawStore.location, config.rawStore.s3);
  const queue = createJobQueue({ connectionString: config.databaseUrl, role: 'sender', onError });
  const closeConnections = async (): Promise<void> => {
    await Promise.allSettled([queue.stop(0), database.close(), rawStore.close()]);
  };
  try {
    await checkSchemaVersion(database.database);
    await queue.start();
    const app = await createApiApp({ database, rawStore, queue, log }, config);
    await app.listen({ host: config.host, port: config.port, listenTextResolver: () => 'api listening' });
    const url = toUrl(app.server.address() as AddressInfo);
    log.info({ url }, 'api ready');
    return {
      url,
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

function toUrl({ address, family, port }: AddressInfo): string {
  if (address === '0.0.0.0') return `http://127.0.0.1:${port}`;
  if (address === '::') return `http://[::1]:${port}`;
  return family === 'IPv6' ? `http://[${address}]:${port}` : `http://${address}:${port}`;
}
