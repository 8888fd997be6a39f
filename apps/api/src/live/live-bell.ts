import { type DatabasePool, LIVE_CHANNEL, type LiveSessionKey, toLiveBell, toWorkspaceBell } from '@recount/db';

interface BellRing {
  /** Resolves after new events of the session, or after the timeout. May resolve without any. */
  rung: Promise<void>;
  /** Must always be called. */
  cancel(): void;
}

const toBellOfWorkspace = (bell: string): string => bell.slice(0, bell.indexOf('/'));

type Connection = Parameters<Parameters<DatabasePool['withTransaction']>[0]>[1];

/** Interval between polls for new events, and between connection attempts, while there is no connection. */
const DEAF_INTERVAL_MS = 1000;

/**
 * Notifies this process of new events of sessions, with one connection for all waiters. Connects on first use, and again
 * when the connection breaks.
 */
export class LiveBell {
  readonly #pool: DatabasePool['pool'];
  readonly #onFailure: (error: unknown) => void;
  readonly #waiting = new Map<string, Set<() => void>>();
  #connection: Connection | undefined;
  #connecting: Promise<void> | undefined;
  #nextAttemptMs = 0;
  #isClosed = false;

  constructor({ pool }: DatabasePool, onFailure: (error: unknown) => void) {
    this.#pool = pool;
    this.#onFailure = onFailure;
  }

  /** Call it before reading the events and await it afterwards, so that none is missed in between. */
  wait(session: LiveSessionKey, timeoutMs: number, signal: AbortSignal): BellRing {
    return this.#waitFor(toLiveBell(session), timeoutMs, signal);
  }

  /** The same for all sessions of a workspace. */
  waitForWorkspace(workspaceId: string, timeoutMs: number, signal: AbortSignal): BellRing {
    return this.#waitFor(toWorkspaceBell(workspaceId), timeoutMs, signal);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#connecting;
    this.#connection?.release(true);
    this.#connection = undefined;
  }

  #waitFor(bell: string, timeoutMs: number, signal: AbortSignal): BellRing {
    const isDeaf = this.#connection === undefined;
    if (isDeaf && !this.#isClosed && performance.now() >= this.#nextAttemptMs) this.#connecting ??= this.#connect();
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting;
    const wakers = waiting.get(bell) ?? new Set();
    waiting.set(bell, wakers.add(resolve));
    const timer = setTimeout(resolve, isDeaf ? Math.min(DEAF_INTERVAL_MS, timeoutMs) : timeoutMs);
    const onAbort = (): void => resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) resolve();
    return {
      rung: promise,
      cancel() {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        wakers.delete(resolve);
        if (wakers.size === 0 && waiting.get(bell) === wakers) waiting.delete(bell);
      },
    };
  }

  async #connect(): Promise<void> {
    this.#nextAttemptMs = performance.now() + DEAF_INTERVAL_MS;
    try {
      this.#connection = await this.#open();
      this.#ringAll();
    } catch (error) {
      this.#onFailure(error);
    } finally {
      this.#connecting = undefined;
    }
  }

  async #open(): Promise<Connection> {
    const client = await this.#pool.connect();
    client.on('error', (error: Error) => this.#lose(client, error));
    client.on('notification', ({ payload = '' }) => {
      this.#ring(payload);
      this.#ring(toBellOfWorkspace(payload));
    });
    try {
      await client.query(`LISTEN ${LIVE_CHANNEL}`);
      return client;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  #lose(client: Connection, error: Error): void {
    if (this.#connection !== client) return;
    this.#connection = undefined;
    client.release(true);
    this.#onFailure(error);
    this.#ringAll();
  }

  #ring(bell: string): void {
    for (const wake of this.#waiting.get(bell) ?? []) wake();
  }

  /** Notifications sent while there was no connection are lost. */
  #ringAll(): void {
    for (const bell of this.#waiting.keys()) this.#ring(bell);
  }
}
