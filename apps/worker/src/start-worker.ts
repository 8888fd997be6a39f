import {
  checkSchemaVersion,
  createDatabasePool,
  type DatabasePool,
  findTranscript,
  SchemaVersionError,
} from '@recount/db';
import {
  createAlertOptions,
  createOutageGate,
  handleBatch,
  handleJob,
  type JobReport,
  openPriceFile,
  runBudgets,
  runDeliveries,
  runDigests,
  runJobs,
  runReaderCleanup,
  runReparsing,
  runRepositoryNaming,
  runRepositoryRenaming,
  runRepricing,
  runRetention,
  runSearchIndexer,
  runTotals,
  runWorkspaceRecorder,
  type SearchIndexerDeps,
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
import { createRawStore, type RawStore } from '@recount/storage';
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

/** The resources that a worker holds until it closes. */
interface WorkerResources {
  database: DatabasePool;
  rawStore: RawStore;
  tracing: Tracing;
  metrics: WorkerMetrics | undefined;
  priceSource: PriceFile;
  /** Logs an error of a connection; repeats are counted. */
  onError(error: unknown): void;
  close(): Promise<void>;
}

/** Throws like `startWorker`; nothing stays open then. */
async function openResources(config: WorkerConfig, log: Logger): Promise<WorkerResources> {
  const logError = limitRepeats((line) => log.error(line, 'connection error'));
  const onError = (error: unknown): void => logError(toFailureReason(error));
  const database = createDatabasePool({
    connectionString: config.databaseUrl,
    maxConnections: Math.max(config.maxConnections, config.concurrency + 8),
    applicationName: 'recount worker',
    preparesStatements: true,
    onConnectionError: onError,
  });
  const rawStore = await createRawStore(config.rawStore.location, config.rawStore.s3);
  const onLostSpans = (reason: string): void => log.warn({ reason }, 'spans not sent');
  const tracing = config.isTraced
    ? await startTracing({ serviceName: 'recount-worker', onError: onLostSpans })
    : noTracing;
  const metrics = config.metrics && (await createMetrics(database));
  let metricsServer: { close(): Promise<void> } | undefined;
  let priceSource: PriceFile;
  const close = async (): Promise<void> => {
    priceSource?.close();
    await Promise.allSettled([database.close(), rawStore.close(), tracing.close(), metricsServer?.close()]);
  };
  try {
    await checkSchemaVersion(database.database);
    priceSource = await openPriceFile(config.priceFile, log);
    if (metrics && config.metrics) metricsServer = await startMetricsServer(metrics, config.metrics);
  } catch (error) {
    await close();
    throw error;
  }
  return { database, rawStore, tracing, metrics, priceSource, onError, close };
}

/**
 * Starts taking ingest jobs. Throws if the database cannot be reached or has another schema version, and if the port
 * for metrics is in use; later outages are logged, and the worker recovers from them.
 */
export async function startWorker(config: WorkerConfig, log: Logger): Promise<RunningWorker> {
  const resources = await openResources(config, log);
  const { database, rawStore, priceSource, tracing, onError } = resources;
  const shutdown = new AbortController();
  const outages = createOutageGate({ database, rawStore, onChange: (change) => logOutage(log, change) });
  const ingestedWorkspaces = new Set<string>();
  const onReport = createReporter({ ...resources, log });
  const onJob = (report: JobReport): void => {
    ingestedWorkspaces.add(report.workspaceId);
    onReport(report);
  };
  const deps = { database: traceTransactions(database, tracing), rawStore, onReport: onJob, outages };
  const options = { maxLineBytes: config.maxLineBytes, priceSource, signal: shutdown.signal };
  const schema = watchSchema(database);
  let jobsUnderWay = 0;
  const track = async (handling: Promise<unknown>): Promise<void> => {
    jobsUnderWay++;
    await handling.finally(() => jobsUnderWay--);
  };
  const jobs = runJobs(
    database,
    {
      waitUntilPossible: (signal) => outages.pass(signal),
      // The gate may have closed while the jobs were being taken.
      mayWork: async () => !(await schema.hasChanged()) && outages.isOpen(),
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
    { concurrency: config.concurrency, onError },
  );
  const endOfLoops = new AbortController();
  const loops = startLoops({ database, rawStore, priceSource, log, config }, endOfLoops.signal, {
    isBusy: () => jobsUnderWay > 0,
    workspaces: ingestedWorkspaces,
    outages,
  });
  log.info({ concurrency: config.concurrency }, 'worker ready');

  return {
    failed: schema.changed,
    async close() {
      endOfLoops.abort();
      await loops;
      const timer = setTimeout(() => shutdown.abort(), config.shutdownGraceMs);
      await jobs.stop(config.shutdownGraceMs + HAND_BACK_MS);
      clearTimeout(timer);
      await resources.close();
    },
  };
}

function logOutage(log: Logger, { isOpen, reason }: { isOpen: boolean; reason?: string | undefined }): void {
  if (isOpen) log.info('database reachable again, resuming');
  else log.error({ reason }, 'work stops until the resource is back; no attempt is counted');
}

/** Notices that another version of recount has migrated the database. */
function watchSchema({ database }: DatabasePool): { changed: Promise<never>; hasChanged(): Promise<boolean> } {
  const { promise: changed, reject } = Promise.withResolvers<never>();
  // The caller may not observe it.
  changed.catch(() => undefined);
  return {
    changed,
    async hasChanged() {
      try {
        await checkSchemaVersion(database);
        return false;
      } catch (error) {
        if (!(error instanceof SchemaVersionError)) return false;
        reject(error);
        return true;
      }
    },
  };
}

type PriceFile = Awaited<ReturnType<typeof openPriceFile>>;

interface LoopResources {
  database: DatabasePool;
  rawStore: RawStore;
  priceSource: PriceFile;
  log: Logger;
  config: WorkerConfig;
}

/** Starts everything that looks after database and raw store beside the jobs; resolves when all of it has ended. */
function startLoops(
  { database, rawStore, priceSource, log, config }: LoopResources,
  signal: AbortSignal,
  indexing: Pick<SearchIndexerDeps, 'isBusy' | 'workspaces' | 'outages'>,
): Promise<unknown> {
  const options = { signal };
  const toDeps = (failed: string) => ({
    database,
    onFailure: (reason: string) => log.warn({ reason }, failed),
  });
  const toReportingDeps = (reported: string, failed: string) => ({
    ...toDeps(failed),
    onReport: (report: object) => log.info(report, reported),
  });
  const onAlert = (report: { reason?: string | undefined }): void =>
    log[report.reason === undefined ? 'info' : 'warn'](report, 'alert');
  const onIndexFailure = limitRepeats((line) => log.warn(line, 'search indexing failed'));
  return Promise.all([
    runSearchIndexer({ database, ...indexing, onFailure: onIndexFailure }, options),
    runRetention({ ...toReportingDeps('deleted by age', 'retention failed'), rawStore }, options),
    runWorkspaceRecorder({ ...toDeps('workspaces not recorded in the raw store'), rawStore }, options),
    runTotals(toDeps('totals not made'), options),
    runBudgets(toReportingDeps('budget crossed', 'budget not evaluated'), options),
    runDeliveries({ ...toDeps('alerts not sent'), onReport: onAlert }, createAlertOptions(config.alerts), options),
    runDigests(toReportingDeps('digest', 'digest not made'), options),
    runReaderCleanup(toDeps('roles of killed recount sql not dropped'), options),
    runReparsing(
      toReportingDeps('older transcripts are ingested again by the new parser', 'older transcripts not ingested again'),
      options,
    ),
    runRepositoryNaming(
      toReportingDeps('repositories of older transcripts named', 'repositories of older transcripts not named'),
      options,
    ),
    runRepricing({ ...toReportingDeps('stored usage repriced', 'stored usage not repriced'), priceSource }, options),
    runRepositoryRenaming(
      toReportingDeps(
        'sessions of renamed repositories have their new names',
        'renamed repositories not applied to stored sessions',
      ),
      options,
    ),
  ]);
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
