import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_PAUSE_MS = 250;
/** Shorter than the pause after which another worker begins the next attempt of a job. */
const MAX_PAUSE_MS = 1000;

/**
 * Writes something of a job, and tries again for as long as that fails, without a limit of time: while the database that
 * holds the queue takes no writes, there are no other jobs to be had either. Rejects with the last error once
 * `isStopping`.
 */
export async function persist<Result>(write: () => Promise<Result>, isStopping: () => boolean): Promise<Result> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    try {
      return await write();
    } catch (error) {
      if (isStopping()) throw error;
      await sleep(pauseMs);
    }
  }
}
