import { setTimeout as sleep } from 'node:timers/promises';
import { type DatabasePool, type IngestJob, releaseJobs, type TakenJob, takeBatch, takeJob } from '@recount/db';
import pLimit from 'p-limit';
import { JobBell } from './job-bell.ts';

export interface JobHandlers {
  /** Resolves before jobs are taken. */
  waitUntilPossible(signal: AbortSignal): Promise<void>;
  /** False if the jobs that were just taken are for other workers. Must not throw. */
  mayWork(): Promise<boolean>;
  /** Handles a job of a transcript that is ingested alone. Must not throw. */
  handleJob(job: TakenJob): Promise<unknown>;
  /** Handles jobs of small transcripts of one workspace, which come for the first time. Must not throw. */
  handleBatch(jobs: readonly IngestJob[]): Promise<unknown>;
}

export interface RunOptions {
  /** Jobs handled alone concurrently. */
  concurrency: number;
  onError: (error: unknown) => void;
  /** The longest time until a job is found whose notification was lost or whose pause has ended. */
  pollIntervalMs?: number;
}

export interface RunningJobs {
  /** Takes no more jobs, and waits at most `graceMs` for those in progress. */
  stop(graceMs: number): Promise<void>;
}

/** Batches in progress, so that one is parsed while Postgres settles the other. A long transcript holds up neither. */
const BATCHES_AT_ONCE = 2;
const DEFAULT_POLL_INTERVAL_MS = 1000;
/** Other workers took the same jobs at the same moment; then there may be more. */
const MAX_RIVALS = 10;

/** Takes jobs and has them handled, until it is stopped. Errors of the database are reported and survived. */
export function runJobs(database: DatabasePool, handlers: JobHandlers, options: RunOptions): RunningJobs {
  const { concurrency, onError, pollIntervalMs: intervalMs = DEFAULT_POLL_INTERVAL_MS } = options;
  const stopping = new AbortController();
  const bell = new JobBell(database, { intervalMs, onError });
  const isStopping = (): boolean => stopping.signal.aborted;
  /** One at a time, because two that look at the same moment would share one batch. */
  const oneTaker = pLimit(1);

  const giveBack = async (jobs: readonly IngestJob[], isAlone: boolean): Promise<false> => {
    const ids = jobs.map(({ transcriptId }) => transcriptId);
    await releaseJobs(database.database, jobs[0]?.workspaceId ?? '', ids, { isAlone });
    // Other workers get them in that time.
    await sleep(intervalMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    return false;
  };
  const workAlone = async (): Promise<boolean> => {
    const job = await takeJob(database.database);
    if (job === undefined) return false;
    if (isStopping() || !(await handlers.mayWork())) return await giveBack([job], true);
    await handlers.handleJob(job);
    return true;
  };
  const workBatch = async (): Promise<boolean> => {
    const { jobs } = await oneTaker(async () => {
      let taken = await takeBatch(database.database);
      for (let rival = 0; taken.isBusy && rival < MAX_RIVALS; rival++) taken = await takeBatch(database.database);
      return taken;
    });
    if (jobs.length === 0) return false;
    if (isStopping() || !(await handlers.mayWork())) return await giveBack(jobs, false);
    await handlers.handleBatch(jobs);
    // Some may have been left to be done alone.
    bell.ring('alone');
    return true;
  };
  const loop = async (kind: 'alone' | 'batch', work: () => Promise<boolean>): Promise<void> => {
    while (!isStopping()) {
      const rung = bell.wait(kind);
      await handlers.waitUntilPossible(stopping.signal);
      if (isStopping()) return;
      const hasWorked = await work().catch((error: unknown) => {
        onError(error);
        return false;
      });
      if (!hasWorked && !isStopping()) await rung;
    }
  };
  const loops = [
    ...Array.from({ length: concurrency }, () => loop('alone', workAlone)),
    ...Array.from({ length: BATCHES_AT_ONCE }, () => loop('batch', workBatch)),
  ];

  return {
    async stop(graceMs) {
      stopping.abort();
      bell.ring();
      const timeout = new AbortController();
      const timedOut = sleep(graceMs, undefined, { signal: timeout.signal }).catch(() => undefined);
      await Promise.race([Promise.all(loops), timedOut]);
      timeout.abort();
      await bell.close();
    },
  };
}
