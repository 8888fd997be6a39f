import { setTimeout as sleep } from 'node:timers/promises';
import { type AdvisoryLock, withAdvisoryLock } from '@recount/db';
import { toFailureReason } from './failure-reason.ts';
import type { IngestDependencies } from './ingest-dependencies.ts';

export interface LoopDeps extends Pick<IngestDependencies, 'database'> {
  /** Called with the reason if a round, or a part of it, failed. The next round tries again. */
  onFailure: (reason: string) => void;
}

export interface LoopOptions {
  /** Ends the loop after the current round. */
  signal: AbortSignal;
  /** Pause between rounds, in milliseconds. Each loop has a default. */
  intervalMs?: number | undefined;
}

/** Does a part of a round. If it fails, that is reported, and the round continues. Never rejects. */
export type Attempt = (work: () => Promise<unknown>) => Promise<void>;

interface Loop extends Required<LoopOptions> {
  intervalMs: number;
  /** Rounds are skipped while another process has this lock. Default: any number of processes run them. */
  lock?: AdvisoryLock;
  /** A pause lasts at least this many times as long as the round before it. Default 0. */
  pauseFactor?: number;
}

/**
 * Runs rounds of work, immediately and then after each pause, until `signal` aborts. `ended` aborts then, or when another
 * process may have the lock. Never rejects.
 */
export async function runLoop(
  { database, onFailure }: LoopDeps,
  { signal, intervalMs, lock, pauseFactor = 0 }: Loop,
  round: (attempt: Attempt, ended: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const attempt: Attempt = async (work) => {
    try {
      await work();
    } catch (error) {
      if (!signal.aborted) onFailure(toFailureReason(error));
    }
  };
  while (!signal.aborted) {
    const startMs = performance.now();
    await attempt(() =>
      lock === undefined
        ? round(attempt, signal)
        : withAdvisoryLock(database, lock, (isLost) => round(attempt, AbortSignal.any([signal, isLost]))),
    );
    const pauseMs = Math.max(intervalMs, (performance.now() - startMs) * pauseFactor);
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}
