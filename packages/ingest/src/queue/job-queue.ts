import { type Database, sessionOptions, sql } from '@recount/db';
import { fromDrizzle, type JobWithMetadata, PgBoss } from 'pg-boss';
import type { IngestJob, StoredJob } from './ingest-job.ts';
import { findPendingIn } from './job-table.ts';
import { persist } from './persist.ts';
import { putOff } from './put-off.ts';
import {
  DEAD_LETTER_QUEUE,
  INGEST_QUEUE,
  INGEST_QUEUES,
  MAX_GROUP_JOBS,
  MAX_OUTAGE_HAND_BACKS,
  SMALL_INGEST_QUEUE,
} from './queues.ts';

/**
 * The outcome of a job, either done; to be retried later, either counting as an attempt or, after an outage, not; or to
 * be handed to another worker now. A shared outage, which affects every client, does not count against the job's limit
 * of outages either.
 */
export type JobOutcome =
  | { status: 'done' }
  | { status: 'failed'; reason: string }
  | { status: 'outage'; reason: string; isShared: boolean }
  | { status: 'handed-back' };

/**
 * Must not throw. `handBacksLeft` is the number of times that the job may still end in a separate outage; 0 means not
 * this time.
 */
export type JobHandler = (job: IngestJob, attempt: { handBacksLeft: number }) => Promise<JobOutcome>;

/**
 * The outcome of a job in a group, either done; to be handled separately, which does not count as an attempt; or to be
 * handed to another worker now.
 */
export type GroupedOutcome = 'done' | 'alone' | 'handed-back';

export interface WorkOptions {
  /** Jobs, or groups of them, in progress concurrently in this process. */
  concurrency: number;
  /** Time between polls of the queue; new jobs also send a notification. */
  pollIntervalMs?: number;
}

export interface JobQueue {
  start(): Promise<void>;
  /** Enqueues within the caller's transaction, because the job exists if and only if that commits. */
  enqueue(transaction: Database, job: IngestJob, options?: { priority?: number }): Promise<void>;
  /** Like `enqueue`, for many small transcripts that come for the first time, to be handled in groups. */
  enqueueSmall(transaction: Database, jobs: readonly IngestJob[], options?: { priority?: number }): Promise<void>;
  /** Starts taking jobs. */
  work(options: WorkOptions, handler: JobHandler): Promise<void>;
  /**
   * Starts taking jobs of small transcripts, up to MAX_GROUP_JOBS at a time. Only their first attempt is made in a
   * group. If a worker is killed with a group, its jobs are handled separately afterwards, so that the killer cannot
   * use up the attempts of the others. The handler returns an outcome for each job, in order, and must not throw.
   */
  workSmall(
    options: WorkOptions,
    handler: (jobs: readonly IngestJob[]) => Promise<readonly GroupedOutcome[]>,
  ): Promise<void>;
  /**
   * Starts taking jobs whose attempts are used up, unless another job of the transcript is waiting. If the handler
   * throws, it gets the job again.
   */
  workDeadLetters(handler: (job: IngestJob) => Promise<void>): Promise<void>;
  /** The given transcripts that have a job or dead letter waiting or in progress. */
  findPending(transcriptIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Takes no more jobs, waits at most `graceMs` for those in progress, and closes the connections. */
  stop(graceMs: number): Promise<void>;
}

export interface JobQueueOptions {
  connectionString: string;
  /** Workers supervise the queue and recover the jobs of dead ones. Senders need not. */
  role: 'sender' | 'worker';
  onError: (error: Error) => void;
  maxConnections?: number;
}

const SUPERVISE_SECONDS = 2;
const DEFAULT_POLL_INTERVAL_MS = 1000;

/** A pg-boss queue of ingest jobs. `migrateQueue` must have run. */
export function createJobQueue(options: JobQueueOptions): JobQueue {
  const isWorker = options.role === 'worker';
  const boss = new PgBoss({
    ...sessionOptions,
    connectionString: options.connectionString,
    application_name: `recount queue ${options.role}`,
    max: options.maxConnections ?? (isWorker ? 4 : 2),
    migrate: false,
    createSchema: false,
    schedule: false,
    supervise: isWorker,
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
    queueCacheIntervalSeconds: SUPERVISE_SECONDS,
    // No one hears its warnings, and its query reads the whole catalogue: 20 ms every two seconds on a cluster's
    // coordinator.
    monitorVacuum: false,
    useListenNotify: isWorker,
  });
  boss.on('error', (error) => options.onError(toError(error)));

  let isStopping = false;

  const write = <Result>(operation: () => Promise<Result>): Promise<Result> => persist(operation, () => isStopping);

  /** Replaces jobs in progress by new ones, so that no attempt is counted. */
  const insertAgain = async (queue: string, jobs: readonly JobWithMetadata<IngestJob>[]): Promise<void> => {
    if (jobs.length === 0) return;
    const copies = jobs.map(({ data, priority }) => ({ data, priority }));
    await write(() => boss.insert(queue, copies));
  };

  return {
    async start() {
      await boss.start();
    },
    async enqueue(transaction, job, sendOptions = {}) {
      const id = await boss.send(INGEST_QUEUE, job, {
        db: fromDrizzle(transaction, sql),
        priority: sendOptions.priority ?? 0,
      });
      if (id === null) throw new Error('The queue refused the job');
    },
    async enqueueSmall(transaction, jobs, sendOptions = {}) {
      const inserts = jobs.map((data) => ({ data, priority: sendOptions.priority ?? 0 }));
      await boss.insert(SMALL_INGEST_QUEUE, inserts, { db: fromDrizzle(transaction, sql) });
    },
    async work({ concurrency, pollIntervalMs }, handler) {
      // One at a time, because a job that kills its worker must not use up the attempts of others that were fetched
      // with it.
      const options = toFetchOptions(1, pollIntervalMs);
      for (let loop = 0; loop < concurrency; loop++) {
        let workerId: string | undefined;
        workerId = await boss.work<StoredJob, unknown, typeof options>(INGEST_QUEUE, options, async ([job]) => {
          if (job === undefined) return [];
          const { workspaceId, transcriptId, outageCount = 0 } = job.data;
          const data = { workspaceId, transcriptId };
          const handBacksLeft = Math.max(0, MAX_OUTAGE_HAND_BACKS - outageCount);
          const outcome: JobOutcome = isStopping ? { status: 'handed-back' } : await handler(data, { handBacksLeft });
          // Sent as a new job, because failing this one would count as an attempt.
          if (outcome.status === 'handed-back') {
            await write(() => boss.send(INGEST_QUEUE, data, { priority: job.priority }));
          }
          const status =
            outcome.status === 'outage' ? await putOff(boss, job, outcome, () => isStopping) : toStatus(outcome);
          // There may be more jobs; otherwise pg-boss would wait for the next poll.
          if (workerId !== undefined) boss.notifyWorker(workerId);
          return [{ id: job.id, status, ...('reason' in outcome && { output: { reason: outcome.reason } }) }];
        });
      }
    },
    async workSmall({ concurrency, pollIntervalMs }, handler) {
      const options = toFetchOptions(MAX_GROUP_JOBS, pollIntervalMs);
      for (let loop = 0; loop < concurrency; loop++) {
        let workerId: string | undefined;
        workerId = await boss.work<IngestJob, unknown, typeof options>(SMALL_INGEST_QUEUE, options, async (jobs) => {
          const firsts = jobs.filter(({ retryCount }) => retryCount === 0);
          // Before any work, because other jobs must not suffer from it.
          const others = jobs.filter(({ retryCount }) => retryCount > 0);
          if (others.length > 0) {
            await insertAgain(INGEST_QUEUE, others);
            // Immediately, because if this group kills its worker too, they would lose an attempt here.
            const ids = others.map(({ id }) => id);
            await write(() => boss.complete(SMALL_INGEST_QUEUE, ids));
          }
          const outcomes = isStopping
            ? firsts.map((): GroupedOutcome => 'handed-back')
            : await handler(firsts.map(({ data }) => data));
          const withOutcome = (outcome: GroupedOutcome) => firsts.filter((_, index) => outcomes[index] === outcome);
          await insertAgain(INGEST_QUEUE, withOutcome('alone'));
          await insertAgain(SMALL_INGEST_QUEUE, withOutcome('handed-back'));
          if (workerId !== undefined) boss.notifyWorker(workerId);
          return jobs.map(({ id }) => ({ id, status: 'completed' }));
        });
      }
    },
    async workDeadLetters(handler) {
      // pg-boss sends no notification for dead letters, and would poll for them only every 30 seconds.
      const options = { pollingIntervalSeconds: 1, notifyPollingIntervalSeconds: 1 };
      await boss.work<IngestJob>(DEAD_LETTER_QUEUE, options, async (jobs) => {
        const ids = jobs.map(({ data }) => data.transcriptId);
        const waiting = await findPendingIn(boss.getDb(), INGEST_QUEUES, ids);
        for (const { data } of jobs) {
          const { workspaceId, transcriptId } = data;
          if (!waiting.has(transcriptId)) await handler({ workspaceId, transcriptId });
        }
      });
    },
    findPending: (transcriptIds) => findPendingIn(boss.getDb(), [...INGEST_QUEUES, DEAD_LETTER_QUEUE], transcriptIds),
    async stop(graceMs) {
      isStopping = true;
      await boss.stop({ graceful: graceMs > 0, timeout: Math.max(1000, graceMs), close: true });
    },
  };
}

const toStatus = ({ status }: JobOutcome): 'completed' | 'failed' => (status === 'failed' ? 'failed' : 'completed');

const toFetchOptions = (batchSize: number, pollIntervalMs = DEFAULT_POLL_INTERVAL_MS) =>
  ({
    batchSize,
    pollingIntervalSeconds: pollIntervalMs / 1000,
    notifyPollingIntervalSeconds: pollIntervalMs / 1000,
    perJobResults: true,
    includeMetadata: true,
  }) as const;

/** pg-boss passes some errors on as plain objects, with the fields of the error. */
function toError(error: unknown): Error {
  if (error instanceof Error) return error;
  const fields = typeof error === 'object' ? error : {};
  return Object.assign(new Error('The queue reported an error'), fields);
}
