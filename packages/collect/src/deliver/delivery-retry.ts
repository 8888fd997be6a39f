import { type Pauses, retry } from '@recount/service/retry';
import { DeliveryError } from './delivery-error.ts';

/** The rules for another attempt of a delivery. */
export interface RetryPolicy extends Pauses {
  /** Including the first one. */
  maxAttempts: number;
  /** The time to wait for a busy target in all. */
  maxBusyMs: number;
}

/** Half a minute in total: enough for a server to restart. Its largest uploads take less than an hour. */
export const UPLOAD_RETRIES: Readonly<RetryPolicy> = {
  maxAttempts: 7,
  firstMs: 500,
  longestMs: 10_000,
  maxBusyMs: 60 * 60_000,
};

/** For senders in the background: what they leave waits for the next one. */
export const SENDER_RETRIES: Readonly<RetryPolicy> = {
  maxAttempts: 3,
  firstMs: 1000,
  longestMs: 2000,
  maxBusyMs: 10 * 60_000,
};

/** A target that failed this many items in a row, after all attempts, will fail the next one too. */
const MAX_UNAVAILABLE_IN_A_ROW = 4;

/**
 * Repeats a call while it fails as `unavailable`; rejects with its last error, or the reason of an abort. Waiting for a
 * busy target is no attempt.
 */
export type DeliveryRetry = <Result>(call: () => Promise<Result>, maxAttempts?: number) => Promise<Result>;

/** `onRetry` is called before each pause. */
export function createDeliveryRetry(
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
  onRetry?: (error: DeliveryError, pauseMs: number) => void,
): DeliveryRetry {
  return (call, maxAttempts = policy.maxAttempts) =>
    retry(call, {
      ...policy,
      maxAttempts,
      isRandom: true,
      signal,
      toPassing(error) {
        if (!(error instanceof DeliveryError) || error.code !== 'unavailable') return undefined;
        return { afterMs: error.retryAfterMs, isBusy: error.isBusy };
      },
      onRetry: (error, pauseMs) => onRetry?.(error as DeliveryError, pauseMs),
    });
}

/** Says after each item whether the target will fail the next one too: pass the error, or undefined for a success. */
export function createStopRule(): (error: unknown) => boolean {
  let unavailableInARow = 0;
  return (error) => {
    const code = error instanceof DeliveryError ? error.code : undefined;
    if (error === undefined || code !== undefined)
      unavailableInARow = code === 'unavailable' ? unavailableInARow + 1 : 0;
    return code === 'denied' || unavailableInARow >= MAX_UNAVAILABLE_IN_A_ROW;
  };
}
