import {
  checkSchemaVersion,
  createDatabasePool,
  type DatabasePool,
  findTranscript,
  SchemaVersionError,
} from '@recount/db';
import {
  createOutageGate,
  handleBatch,
  handleJob,
  type JobReport,
  openPriceFile,
  runJobs,
  runReaderCleanup,
  runReparsing,
  runRetention,
  runSearchIndexer,
  runTotals,
  runWorkspaceRecorder,
  toFailureReason,
} from '@recount/ingest';
import {
  noTracing,
  SIZE_BYTES,
  startTracing,
  TRANSCRIPT_ID,
  type Tracing,
  WORKSPACE_ID,
} from '@recount/service/telemetry';
import { limitRepeats } from '@recount/service/telemetry/limit-repeats';
import { startMetricsServer } from '@recount/service/telemetry/metrics-server';
import { createRawStore } from '@recount/storage';
import type { Logger } from 'pino';
import type { WorkerConfig } from './config.ts';
import type { WorkerMetrics } from './worker-metrics.ts';

export interface RunningWorker {
  /**
   * Rejects with SchemaVersionError once another version of recount has migrated the database. This worker then takes
   * no more jobs, because its rows may not fit that schema. Never resolves.
   */
  failed: Promise<never>;
  /** Takes no more jobs; finishes running ones or, after the grace period, hands them back. */
  close(): Promise<void>;
}

/**
 * Jobs that do not end within the grace period are aborted and rolled back; this long is left for handing them back.
 */
const HAND_BACK_MS = 3000;

/**
 * Starts taking ingest jobs. Throws if the database cannot be reached or has another schema version, and if the port
 * for metrics is in use; later outages are logged, and the worker recovers from them.
 */
export async function startWorker(config: WorkerConfig, log: Logger): Promise<RunningWorker> {
  const logError = limitRepeats((line) => log.error(line, 'connection error'));
  const onError = (error: Error): void => logError(toFailureReason(error));
  const database = createDatabasePool({
    connectionString: config.databaseUrl,
    maxConnections: Math.max(config.maxConnections, config.concurrency + 8),
    applicationName: 'recount worker',
    preparesStatements: true,
    onConnectionError: onError,
  });
  const rawStore = await createRawStore(config.rawStore.location, config.rawStore.s3);
  const shutdown = new AbortController();
  const onLostSpans = (reason: string): void => log.warn({ reason }, 'spans not sent');
  const tracing = config.isTraced
    ? await startTracing({ serviceName: 'recount-worker', onError: onLostSpans })
    : noTracing;
  const metrics = config.metrics && (await createMetrics(database));
  let metricsServer: { close(): Promise<void> } | undefined;
  let priceSource: Awaited<ReturnType<typeof openPriceFile>>;
  const closeConnections = async (): Promise<void> => {
    priceSource?.close();
    await Promise.allSettled([database.close(), rawStore.close(), tracing.close(), metricsServer?.close()]);
  };
  try {
    await checkSchemaVersion(database.database);
    priceSource = await openPriceFile(config.priceFile, log);
    if (metrics && config.metrics) metricsServer = await startMetricsServer(metrics, config.metrics);
  } catch (error) {
    await closeConnections();
    throw error;
  }

  const onReport = createReporter({ database, log, metrics, tracing });
  const outages = createOutageGate({
    database,
    rawStore,
    onChange: ({ isOpen, reason }) => {
      if (isOpen) log.info('database reachable again, resuming');
      else log.error({ reason }, 'work stops until the resource is back; no attempt is counted');
    },
  });
  const ingestedWorkspaces = new Set<string>();
  const onJob = (report: JobReport): void => {
    ingestedWorkspaces.add(report.workspaceId);
    onReport(report);
  };
  const deps = { database: traceTransactions(database, tracing), rawStore, onReport: onJob, outages };
  const options = { maxLineBytes: config.maxLineBytes, priceSource, signal: shutdown.signal };
  let jobsUnderWay = 0;
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  // The caller may not observe it.
  failed.catch(() => undefined);
  const hasOtherSchema = async (): Promise<boolean> => {
    try {
      await checkSchemaVersion(database.database);
      return false;
    } catch (error) {
      if (!(error instanceof SchemaVersionError)) return false;
      fail(error);
      return true;
    }
  };
  const track = async (handling: Promise<unknown>): Promise<void> => {
    jobsUnderWay++;
    await handling.finally(() => jobsUnderWay--);
  };
  const jobs = runJobs(
    database,
    {
      waitUntilPossible: (signal) => outages.pass(signal),
      // The gate may have closed while the jobs were being taken.
      mayWork: async () => !(await hasOtherSchema()) && outages.isOpen(),
      handleJob: (job) =>
        track(
          tracing.span('job', { [WORKSPACE_ID]: job.workspaceId, [TRANSCRIPT_ID]: job.transcriptId }, () =>
            handleJob(deps, job, options),
          ),
        ),
      handleBatch: (batch) => {
        const ids = batch.map(({ transcriptId }) => transcriptId).join(' ');
        return track(tracing.span('jobs', { [TRANSCRIPT_ID]: ids }, () => handleBatch(deps, batch, options)));
      },
    },
    { concurrency: config.concurrency, onError: (error) => logError(toFailureReason(error)) },
  );
  const endOfIndexing = new AbortController();
  const onFailure = limitRepeats((line) => log.warn(line, 'search indexing failed'));
  const indexing = runSearchIndexer(
    { database, isBusy: () => jobsUnderWay > 0, workspaces: ingestedWorkspaces, outages, onFailure },
    { signal: endOfIndexing.signal },
  );
  const retention = runRetention(
    {
      database,
      rawStore,
      onReport: (report) => log.info(report, 'deleted by age'),
      onFailure: (reason) => log.warn({ reason }, 'retention failed'),
    },
    { signal: endOfIndexing.signal },
  );
  const recording = runWorkspaceRecorder(
    { database, rawStore, onFailure: (reason) => log.warn({ reason }, 'workspaces not recorded in the raw store') },
    { signal: endOfIndexing.signal },
  );
  const totals = runTotals(
    { database, onFailure: (reason) => log.warn({ reason }, 'totals not made') },
    { signal: endOfIndexing.signal },
  );
  const cleaning = runReaderCleanup(
    { database, onFailure: (reason) => log.warn({ reason }, 'roles of killed recount sql not dropped') },
    { signal: endOfIndexing.signal },
  );
  const reparsing = runReparsing(
    {
      database,
      onReport: (report) => log.info(report, 'older transcripts are ingested again by the new parser'),
      onFailure: (reason) => log.warn({ reason }, 'older transcripts not ingested again'),
    },
    { signal: endOfIndexing.signal },
  );
  log.info({ concurrency: config.concurrency }, 'worker ready');

  return {
    failed,
    async close() {
      endOfIndexing.abort();
      await Promise.all([indexing, retention, recording, totals, cleaning, reparsing]);
      const timer = setTimeout(() => shutdown.abort(), config.shutdownGraceMs);
      await jobs.stop(config.shutdownGraceMs + HAND_BACK_MS);
      clearTimeout(timer);
      await closeConnections();
    },
  };
}

/** Loaded where they are wanted only: they take 0.1 s and 12 MB. */
async function createMetrics({ pool }: DatabasePool): Promise<WorkerMetrics> {
  const { createWorkerMetrics } = await import('./worker-metrics.ts');
  return createWorkerMetrics(pool);
}

interface ReporterDeps {
  database: DatabasePool;
  log: Logger;
  metrics: WorkerMetrics | undefined;
  tracing: Tracing;
}

/** Logs, counts and traces what became of a job. */
function createReporter({ database, log, metrics, tracing }: ReporterDeps): (report: JobReport) => void {
  const countRows = async ({ workspaceId, transcriptId }: JobReport): Promise<void> => {
    const transcript = await findTranscript(database.database, workspaceId, transcriptId);
    metrics?.observeRows((transcript?.total_messages ?? 0) + (transcript?.content_block_count ?? 0));
  };
  return (report) => {
    const { outcome, reason, sizeBytes } = report;
    if (outcome === 'alone') return log[reason === undefined ? 'info' : 'warn'](report, 'job left to be done alone');
    if (reason === undefined) log.info(report, 'job');
    else log.warn(report, outcome === 'outage' ? 'job put off by an outage' : 'job failed');
    tracing.annotate({ 'recount.outcome': outcome, ...(sizeBytes !== undefined && { [SIZE_BYTES]: sizeBytes }) });
    metrics?.observeJob(report);
    if (metrics === undefined || outcome !== 'done') return;
    countRows(report).catch((error: unknown) => log.warn({ reason: toFailureReason(error) }, 'rows not counted'));
  };
}

const traceTransactions = (database: DatabasePool, tracing: Tracing): DatabasePool => ({
  ...database,
  withTransaction: (...transaction) =>
    tracing.span('parse and write', {}, () => database.withTransaction(...transaction)),
});
