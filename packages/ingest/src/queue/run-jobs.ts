import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Database,
  type DatabasePool,
  type IngestJob,
  releaseJobs,
  type TakenJob,
  takeBatch,
  takeJob,
} from '@recount/db';
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
export const runJobs = (database: DatabasePool, handlers: JobHandlers, options: RunOptions): RunningJobs =>
  new JobLoops(database, handlers, options);

class JobLoops implements RunningJobs {
  readonly #database: Database;
  readonly #handlers: JobHandlers;
  readonly #onError: (error: unknown) => void;
  readonly #intervalMs: number;
  readonly #bell: JobBell;
  readonly #stopping = new AbortController();
  /** One at a time, because two that look at the same moment would share one batch. */
  readonly #oneTaker = pLimit(1);
  readonly #loops: readonly Promise<void>[];

  constructor(pool: DatabasePool, handlers: JobHandlers, options: RunOptions) {
    const { concurrency, onError, pollIntervalMs: intervalMs = DEFAULT_POLL_INTERVAL_MS } = options;
    this.#database = pool.database;
    this.#handlers = handlers;
    this.#onError = onError;
    this.#intervalMs = intervalMs;
    this.#bell = new JobBell(pool, { intervalMs, onError });
    this.#loops = [
      ...Array.from({ length: concurrency }, () => this.#loop('alone', () => this.#workAlone())),
      ...Array.from({ length: BATCHES_AT_ONCE }, () => this.#loop('batch', () => this.#workBatch())),
    ];
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    this.#bell.ring();
    const timeout = new AbortController();
    const timedOut = sleep(graceMs, undefined, { signal: timeout.signal }).catch(() => undefined);
    await Promise.race([Promise.all(this.#loops), timedOut]);
    timeout.abort();
    await this.#bell.close();
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #loop(kind: 'alone' | 'batch', work: () => Promise<boolean>): Promise<void> {
    while (!this.#isStopping) {
      const rung = this.#bell.wait(kind);
      await this.#handlers.waitUntilPossible(this.#stopping.signal);
      if (this.#isStopping) return;
      const hasWorked = await work().catch((error: unknown) => {
        this.#onError(error);
        return false;
      });
      if (!hasWorked && !this.#isStopping) await rung;
    }
  }

  async #workAlone(): Promise<boolean> {
    const job = await takeJob(this.#database);
    if (job === undefined) return false;
    if (!(await this.#mayWork())) return await this.#giveBack([job], true);
    await this.#handlers.handleJob(job);
    return true;
  }

  async #workBatch(): Promise<boolean> {
    const { jobs } = await this.#oneTaker(async () => {
      let taken = await takeBatch(this.#database);
      for (let rival = 0; taken.isBusy && rival < MAX_RIVALS; rival++) taken = await takeBatch(this.#database);
      return taken;
    });
    if (jobs.length === 0) return false;
    if (!(await this.#mayWork())) return await this.#giveBack(jobs, false);
    await this.#handlers.handleBatch(jobs);
    // Some may have been left to be done alone.
    this.#bell.ring('alone');
    return true;
  }

  async #mayWork(): Promise<boolean> {
    return !this.#isStopping && (await this.#handlers.mayWork());
  }

  async #giveBack(jobs: readonly IngestJob[], isAlone: boolean): Promise<false> {
    const ids = jobs.map(({ transcriptId }) => transcriptId);
    await releaseJobs(this.#database, jobs[0]?.workspaceId ?? '', ids, { isAlone });
    // Other workers get them in that time.
    await sleep(this.#intervalMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    return false;
  }
}
