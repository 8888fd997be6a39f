import type { FastifyRateLimitStore } from '@fastify/rate-limit';

/** The program itself, its libraries' files, log, and what a request opens besides its upload. */
const OTHER_FILES = 48;
const MIN_CONNECTIONS = 1;

/**
 * How many clients may be connected at once: as configured, but so few that the process has file descriptors left for
 * the database's connections and a raw object of every upload. `maxFiles`: default the process's own limit.
 */
export function toMaxClientConnections(
  config: { maxClientConnections: number; maxConnections: number; maxConcurrentUploads: number },
  maxFiles = readMaxFiles(),
): number {
  const reserved = OTHER_FILES + 2 * config.maxConnections + config.maxConcurrentUploads;
  return Math.max(MIN_CONNECTIONS, Math.min(config.maxClientConnections, maxFiles - reserved));
}

/** Infinity where there is no limit, or the system does not tell. */
function readMaxFiles(): number {
  // Left out of the report: looking up the names of peers takes seconds.
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  report.excludeNetwork = true;
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: number | 'unlimited' } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY;
}

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
