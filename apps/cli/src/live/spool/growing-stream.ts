/** A stream in the spool, as its sender sees it. It may still grow. */
export interface GrowingStream {
  /** Bytes that can be read. */
  readonly size: number;
  /** No more will come. */
  readonly isEnded: boolean;
  /**
   * Resolves when the stream has grown, was named, or has ended; at the latest after `timeoutMs` or when the signal
   * aborts.
   */
  waitForChange(timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

interface GrowthNotice extends GrowingStream {
  grow(byteLength: number): void;
  end(): void;
  /** Wakes all waiters. */
  notify(): void;
}

export function createGrowthNotice(size = 0, isEnded = false): GrowthNotice {
  const state = { size, isEnded };
  const waiting = new Set<() => void>();
  const notify = (): void => {
    for (const wake of waiting) wake();
  };
  return {
    get size() {
      return state.size;
    },
    get isEnded() {
      return state.isEnded;
    },
    waitForChange(timeoutMs, signal) {
      return new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          waiting.delete(wake);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const timer = setTimeout(wake, timeoutMs);
        waiting.add(wake);
        if (signal?.aborted) wake();
        else signal?.addEventListener('abort', wake);
      });
    },
    grow(byteLength) {
      state.size += byteLength;
      notify();
    },
    end() {
      state.isEnded = true;
      notify();
    },
    notify,
  };
}
