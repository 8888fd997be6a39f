import { setTimeout as sleep } from 'node:timers/promises';
import { BackfillTargetError } from '../deliver/delivery-target.ts';

export interface RetryPolicy {
  /** Including the first one. */
  maxAttempts: number;
  /** Before the second attempt; doubled before each further one. */
  baseDelayMs: number;
  maxDelayMs: number;
}

/** Half a minute in total: enough for a server to restart. */
export const DEFAULT_RETRY_POLICY: Readonly<RetryPolicy> = { maxAttempts: 7, baseDelayMs: 500, maxDelayMs: 10_000 };

/** A target may ask for longer waits than the policy's, up to this limit. */
const MAX_RETRY_AFTER_MS = 5 * 60 * 1000;
/** How long to wait for a busy target in all: longer than its largest uploads take. */
const MAX_BUSY_MS = 60 * 60 * 1000;

/**
 * Repeats a call while it fails as `unavailable`; rejects with its last error, or the reason of an abort. Waiting for a
 * busy target is no attempt.
 */
export type Retry = <Result>(attempt: () => Promise<Result>, maxAttempts?: number) => Promise<Result>;

/** `onRetry` is called before each pause. */
export function createRetry(
  policy: RetryPolicy,
  signal: AbortSignal,
  onRetry: (error: BackfillTargetError, delayMs: number) => void = () => {},
): Retry {
  return async (attempt, maxAttempts = policy.maxAttempts) => {
    let failureCount = 0;
    let busyMs = 0;
    for (let count = 1; ; count += 1) {
      signal.throwIfAborted();
      try {
        return await attempt();
      } catch (error) {
        signal.throwIfAborted();
        const isRetryable = error instanceof BackfillTargetError && error.code === 'unavailable';
        if (!isRetryable) throw error;
        const delayMs = toDelayMs(count, error.retryAfterMs, policy);
        if (error.isBusy) busyMs += delayMs;
        else failureCount += 1;
        if (failureCount >= maxAttempts || busyMs > MAX_BUSY_MS) throw error;
        onRetry(error, delayMs);
        await sleep(delayMs, undefined, { signal });
      }
    }
  };
}

/** Random within the upper half of the delay, so that many uploaders do not return at the same moment. */
function toDelayMs(count: number, retryAfterMs: number | undefined, policy: RetryPolicy): number {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, MAX_RETRY_AFTER_MS);
  const delayMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (count - 1));
  return delayMs * (1 - Math.random() / 2);
}
