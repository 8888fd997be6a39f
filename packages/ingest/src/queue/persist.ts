import { retry } from '@recount/service/retry';

/** Shorter than the pause before another worker starts the next attempt of a job. */
const PAUSES = { firstMs: 250, longestMs: 1000 };

/**
 * Updates a job, and retries without a time limit, because while the queue's database accepts no writes, no other jobs
 * can be taken either. Rejects with the last error once `isStopping`.
 */
export async function persist<Result>(write: () => Promise<Result>, isStopping: () => boolean): Promise<Result> {
  return await retry(write, { ...PAUSES, toPassing: () => (isStopping() ? undefined : {}) });
}
