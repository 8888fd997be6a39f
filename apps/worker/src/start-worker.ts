import { checkSchemaVersion, createDatabasePool } from '@recount/db';
import { handleDeadLetter, handleJob } from '@recount/ingest';
import { createJobQueue } from '@recount/queue';
import { createRawStore } from '@recount/storage';
import type { Logger } from 'pino';
import type { WorkerConfig } from './config.ts';

export interface RunningWorker {
  /** Takes no more jobs, finishes those under way or, when the grace time is over, hands them back. */
  close(): Promise<void>;
}

/** Jobs that do not end in the grace time are aborted and rolled back; this long is left for handing them back. */
const HAND_BACK_MS = 3000;

/**
 * Starts taking ingest jobs. Throws where the database cannot be reached or has another schema version; later outages
 * are logged and outlived.
 */
export async function startWorker(config: WorkerConfig, log: Logger): Promise<RunningWorker> {
  const onError = (error: Error): void => log.error({ error: error.message }, 'connection error');
  const database = createDatabasePool({
    connectionString: config.databaseUrl,
    maxConnections: Math.max(config.maxConnections, config.concurrency + 2),
    applicationName: 'recount worker',
    onConnectionError: onError,
  });
  const rawStore = createRawStore(config.rawStore.location, config.rawStore.s3);
  const queue = createJobQueue({ connectionString: config.databaseUrl, role: 'worker', onError });
  const shutdown = new AbortController();
  const closeConnections = async (): Promise<void> => {
    await Promise.allSettled([database.close(), rawStore.close()]);
  };
  try {
    await checkSchemaVersion(database.database);
    await queue.start();
  } catch (error) {
    await queue.stop(0).catch(() => undefined);
    await closeConnections();
    throw error;
  }

  const deps = {
    database,
    rawStore,
    onReport: ({ reason, ...report }: Parameters<Parameters<typeof handleJob>[0]['onReport']>[0]) =>
      reason === undefined ? log.info(report, 'job') : log.warn({ ...report, reason }, 'job failed'),
  };
  const options = { maxLineBytes: config.maxLineBytes, signal: shutdown.signal };
  await queue.workDeadLetters((job) => handleDeadLetter({ database }, job));
  await queue.work({ concurrency: config.concurrency }, (job) => handleJob(deps, job, options));
  log.info({ concurrency: config.concurrency }, 'worker ready');

  return {
    async close() {
      const timer = setTimeout(() => shutdown.abort(), config.shutdownGraceMs);
      await queue.stop(config.shutdownGraceMs + HAND_BACK_MS);
      clearTimeout(timer);
      await closeConnections();
    },
  };
}
