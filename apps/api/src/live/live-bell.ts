import { type DatabasePool, LIVE_CHANNEL, type LiveSessionKey, toLiveBell } from '@recount/db';

interface BellRing {
  /** Resolves after new events of the session, and after the timeout at the latest. May ring for nothing. */
  rung: Promise<void>;
  /** To be called in any case. */
  cancel(): void;
}

/** Tells this process when a session has new events, over one connection for all that wait. */
export interface LiveBell {
  /** To be called before a look at the events, and awaited after it, so that nothing falls between. */
  wait(session: LiveSessionKey, timeoutMs: number, signal: AbortSignal): BellRing;
  /** The same for all sessions of a workspace. */
  waitForWorkspace(workspaceId: string, timeoutMs: number, signal: AbortSignal): BellRing;
  close(): Promise<void>;
}

/** A workspace's id has no slash; that of a session may have some. */
const toWorkspaceBell = (bell: string): string => bell.slice(0, bell.indexOf('/'));

type Connection = Parameters<Parameters<DatabasePool['withTransaction']>[0]>[1];

/** Between looks for new events, and between attempts to connect, while no bell can ring. */
const DEAF_INTERVAL_MS = 1000;

/** Connects when it is first waited for, and again when the connection breaks. */
export function createLiveBell({ pool }: DatabasePool, onFailure: (error: unknown) => void): LiveBell {
  const waiting = new Map<string, Set<() => void>>();
  let connection: Connection | undefined;
  let connecting: Promise<void> | undefined;
  let nextAttemptMs = 0;
  let isClosed = false;

  const ring = (bell: string): void => {
    for (const wake of waiting.get(bell) ?? []) wake();
  };
  /** What rang while there was no connection is not known. */
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
