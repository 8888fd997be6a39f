import type { FastifyRateLimitStore } from '@fastify/rate-limit';

/** Descriptors for the program itself, its libraries' files, the log, and what a request opens besides its upload. */
const OTHER_FILES = 48;
const MIN_CONNECTIONS = 1;

/**
 * The number of clients that may be connected at a time (the configured number, or fewer if the process would otherwise
 * lack file descriptors for the database's connections and a raw object for every upload). `maxFiles` defaults to the
 * process's own limit.
 */
export function toMaxClientConnections(
  config: { maxClientConnections: number; maxConnections: number; maxConcurrentUploads: number },
  maxFiles = readMaxFiles(),
): number {
  const reserved = OTHER_FILES + 2 * config.maxConnections + config.maxConcurrentUploads;
  return Math.max(MIN_CONNECTIONS, Math.min(config.maxClientConnections, maxFiles - reserved));
}

/** Infinity if there is no limit, or the system does not report it. */
function readMaxFiles(): number {
  // Excludes the network from the report, because resolving the names of peers takes seconds.
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  report.excludeNetwork = true;
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: number | 'unlimited' } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY;
}

type Callback = (error: Error | null, count?: { current: number; ttl: number }) => void;

/** As many as the rate limiter's own store. Beyond it, the least recently seen client is forgotten. */
const MAX_KEYS = 5000;

/**
 * In-process counts of the rate limiter. Unlike the limiter's own store, this one uses the monotonic clock, because a
 * window that began while the clock was a day ahead would otherwise last a day. It is a class because the limiter
 * instantiates it for each limit.
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
