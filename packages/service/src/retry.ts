import { setTimeout as sleep } from 'node:timers/promises';

/** Pauses between attempts: each is twice as long as the one before, up to the longest. */
export interface Pauses {
  firstMs: number;
  longestMs: number;
  /** Shortens each pause by up to half, so that many programs do not return at the same moment. Default false. */
  isRandom?: boolean;
}

export interface Backoff {
  /** The next pause in milliseconds. */
  next(): number;
  /** Starts again with the first pause. */
  reset(): void;
}

/** Counts pauses for programs that decide by themselves when to try again. */
export function createBackoff({ firstMs, longestMs, isRandom = false }: Pauses): Backoff {
  let pauseMs = firstMs;
  return {
    next() {
      const fullMs = Math.min(pauseMs, longestMs);
      pauseMs = fullMs * 2;
      return isRandom ? fullMs * (1 - Math.random() / 2) : fullMs;
    },
    reset() {
      pauseMs = firstMs;
    },
  };
}

/** The treatment of a failure that may pass. */
export interface Passing {
  /** The time that the other side asks to wait, instead of the next pause. */
  afterMs?: number | undefined;
  /** Nothing is wrong, the other side only has as much to do as it takes: it counts as no attempt. */
  isBusy?: boolean;
}

export interface RetryOptions extends Pauses {
  /** Including the first one. Default: no limit. */
  maxAttempts?: number;
  /** The time to wait for a busy other side in all. Default: no limit. */
  maxBusyMs?: number;
  /** Returns undefined for an error that ends the attempts. Default: every error may pass. */
  toPassing?(error: unknown): Passing | undefined;
  /** Called before each pause. */
  onRetry?(error: unknown, pauseMs: number): void;
  signal?: AbortSignal | undefined;
}

/** The other side may ask for longer pauses than `longestMs`, up to this limit. */
const MAX_ASKED_MS = 5 * 60_000;

/**
 * Repeats a call while it fails with errors that may pass. Rejects with its last error, or the reason of an abort.
 */
export async function retry<Result>(call: () => Promise<Result>, options: RetryOptions): Promise<Result> {
  const { maxAttempts = Number.POSITIVE_INFINITY, maxBusyMs = Number.POSITIVE_INFINITY, signal } = options;
  const { toPassing = (): Passing => ({}) } = options;
  const backoff = createBackoff(options);
  let failureCount = 0;
  let busyMs = 0;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await call();
    } catch (error) {
      signal?.throwIfAborted();
      const passing = toPassing(error);
      if (passing === undefined) throw error;
      const { afterMs, isBusy = false } = passing;
      const nextMs = backoff.next();
      const pauseMs = afterMs === undefined ? nextMs : Math.min(afterMs, MAX_ASKED_MS);
      if (isBusy) busyMs += pauseMs;
      else failureCount += 1;
      if (failureCount >= maxAttempts || busyMs > maxBusyMs) throw error;
      options.onRetry?.(error, pauseMs);
      // Rejects with an AbortError, whose cause is the signal's reason.
      await sleep(pauseMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  }
}
