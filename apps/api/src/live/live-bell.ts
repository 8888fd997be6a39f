import { type DatabasePool, LIVE_CHANNEL, type LiveSessionKey, toLiveBell } from '@recount/db';

interface BellRing {
  /** Resolves after new events of the session, or after the timeout. May resolve without any. */
  rung: Promise<void>;
  /** Must always be called. */
  cancel(): void;
}

/** Notifies this process of new events of sessions, with one connection for all waiters. */
export interface LiveBell {
  /** Call it before reading the events and await it afterwards, so that none is missed in between. */
  wait(session: LiveSessionKey, timeoutMs: number, signal: AbortSignal): BellRing;
  /** The same for all sessions of a workspace. */
  waitForWorkspace(workspaceId: string, timeoutMs: number, signal: AbortSignal): BellRing;
  close(): Promise<void>;
}

/** A workspace's id has no slash; a session's may have some. */
const toWorkspaceBell = (bell: string): string => bell.slice(0, bell.indexOf('/'));

type Connection = Parameters<Parameters<DatabasePool['withTransaction']>[0]>[1];

/** Interval between polls for new events, and between connection attempts, while there is no connection. */
const DEAF_INTERVAL_MS = 1000;

/** Connects on first use, and again when the connection breaks. */
export function createLiveBell({ pool }: DatabasePool, onFailure: (error: unknown) => void): LiveBell {
  const waiting = new Map<string, Set<() => void>>();
  let connection: Connection | undefined;
  let connecting: Promise<void> | undefined;
  let nextAttemptMs = 0;
  let isClosed = false;

  const ring = (bell: string): void => {
    for (const wake of waiting.get(bell) ?? []) wake();
  };
  /** Notifications sent while there was no connection are lost. */
  const ringAll = (): void => {
    for (const bell of waiting.keys()) ring(bell);
  };
  const open = async (): Promise<Connection> => {
    const client = await pool.connect();
    const onError = (error: Error): void => {
      if (connection !== client) return;
      connection = undefined;
      client.release(true);
      onFailure(error);
      ringAll();
    };
    client.on('error', onError);
    client.on('notification', ({ payload = '' }) => {
      ring(payload);
      ring(toWorkspaceBell(payload));
    });
    try {
      await client.query(`LISTEN ${LIVE_CHANNEL}`);
      return client;
    } catch (error) {
      client.release(true);
      throw error;
    }
  };
  const connect = async (): Promise<void> => {
    nextAttemptMs = performance.now() + DEAF_INTERVAL_MS;
    try {
      connection = await open();
      ringAll();
    } catch (error) {
      onFailure(error);
    } finally {
      connecting = undefined;
    }
  };

  const waitFor = (bell: string, timeoutMs: number, signal: AbortSignal): BellRing => {
    if (connection === undefined && !isClosed && performance.now() >= nextAttemptMs) connecting ??= connect();
    const { promise, resolve } = Promise.withResolvers<void>();
    const wakers = waiting.get(bell) ?? new Set();
    waiting.set(bell, wakers.add(resolve));
    const timer = setTimeout(resolve, connection === undefined ? Math.min(DEAF_INTERVAL_MS, timeoutMs) : timeoutMs);
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
  };

  return {
    wait: (session, timeoutMs, signal) => waitFor(toLiveBell(session), timeoutMs, signal),
    waitForWorkspace: (workspaceId, timeoutMs, signal) => waitFor(workspaceId, timeoutMs, signal),
    async close() {
      isClosed = true;
      await connecting;
      connection?.release(true);
      connection = undefined;
    },
  };
}
