import type { FastifyRateLimitStore } from '@fastify/rate-limit';

type Callback = (error: Error | null, count?: { current: number; ttl: number }) => void;

/** As many as the rate limiter's own store has. Beyond it, the client that was seen least recently is forgotten. */
const MAX_KEYS = 5000;

/**
 * Counts of the rate limiter in this process. Unlike its own store this one measures time by the monotonic clock: a window
 * that began while the clock was a day ahead would last for a day. A class, as the limiter makes one for each limit.
 */
export class RateStore implements FastifyRateLimitStore {
  readonly #windows = new Map<string, { startedAtMs: number; count: number }>();
  readonly #nowMs: () => number;

  constructor(_options?: object, nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  incr(key: string, callback: Callback, windowMs = 0): void {
    const window = this.#find(key, windowMs) ?? { startedAtMs: this.#nowMs(), count: 0 };
    window.count += 1;
    this.#windows.delete(key);
    this.#windows.set(key, window);
    const [oldest] = this.#windows.keys();
    if (this.#windows.size > MAX_KEYS && oldest !== undefined) this.#windows.delete(oldest);
    callback(null, { current: window.count, ttl: windowMs - (this.#nowMs() - window.startedAtMs) });
  }

  read(key: string, callback: Callback, windowMs = 0): void {
    const window = this.#find(key, windowMs);
    if (window === undefined) callback(null, { current: 0, ttl: 0 });
    else callback(null, { current: window.count, ttl: windowMs - (this.#nowMs() - window.startedAtMs) });
  }

  child(): RateStore {
    return new RateStore(undefined, this.#nowMs);
  }

  #find(key: string, windowMs: number): { startedAtMs: number; count: number } | undefined {
    const window = this.#windows.get(key);
    return window !== undefined && this.#nowMs() - window.startedAtMs < windowMs ? window : undefined;
  }
}
