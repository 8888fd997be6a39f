import { type DatabaseClient, type DatabasePool, JOB_CHANNEL } from '@recount/db';

/** New jobs that are taken alone, or in batches. */
type JobKind = 'alone' | 'batch';

interface JobBellOptions {
  intervalMs: number;
  onError: (error: unknown) => void;
}

/**
 * Wakes loops that wait for jobs. Rings when Postgres notifies this process of new jobs, and after each interval, because
 * pauses end and notifications may be lost. Connects again at the next interval if the connection breaks.
 */
export class JobBell {
  readonly #pool: DatabasePool['pool'];
  readonly #onError: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #next = { alone: Promise.withResolvers<void>(), batch: Promise.withResolvers<void>() };
  #connection: DatabaseClient | undefined;
  #connecting: Promise<void> | undefined;
  #isClosed = false;

  constructor({ pool }: Pick<DatabasePool, 'pool'>, { intervalMs, onError }: JobBellOptions) {
    this.#pool = pool;
    this.#onError = onError;
    this.#listen();
    this.#timer = setInterval(() => {
      this.#listen();
      this.ring();
    }, intervalMs);
  }

  /** Resolves with the next ring. Call it before looking for jobs, so that none is missed in between. */
  wait(kind: JobKind): Promise<void> {
    return this.#next[kind].promise;
  }

  ring(kind?: JobKind): void {
    for (const each of kind === undefined ? (['alone', 'batch'] as const) : [kind]) {
      const { resolve } = this.#next[each];
      this.#next[each] = Promise.withResolvers();
      resolve();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#connecting;
    this.#disconnect();
  }

  #listen(): void {
    if (this.#connection !== undefined || this.#isClosed) return;
    this.#connecting ??= this.#connect()
      .catch(this.#onError)
      .finally(() => {
        this.#connecting = undefined;
      });
  }

  async #connect(): Promise<void> {
    const client = await this.#pool.connect();
    client.on('error', (error) => {
      if (this.#connection !== client) return;
      this.#connection = undefined;
      client.release(true);
      this.#onError(error);
    });
    client.on('notification', ({ payload }) =>
      this.ring(payload === 'alone' || payload === 'batch' ? payload : undefined),
    );
    try {
      await client.query(`LISTEN ${JOB_CHANNEL}`);
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.#connection = client;
    if (this.#isClosed) this.#disconnect();
    // Notifications of jobs that were committed before are lost.
    else this.ring();
  }

  #disconnect(): void {
    const client = this.#connection;
    this.#connection = undefined;
    client?.release(true);
  }
}
