import {
  type Database,
  findLiveSession,
  findNamedStream,
  type LiveEventRow,
  type LiveSessionKey,
  listLiveEvents,
} from '@recount/db';
import type { LiveBell } from './live-bell.ts';

/** How fast a reader must be. */
export interface Pacing {
  /** A reader that takes nothing for so long is dropped. */
  slowReaderTimeoutMs: number;
  /** The reader is too slow: to break the connection, as it would not read an answer either. */
  onSlowReader: () => void;
}

interface EventStreamOptions extends Pacing {
  session: LiveSessionKey;
  /** Events after this one. */
  afterId: number;
  /** Whether to wait for more once no stream of the session is open. */
  isFollowing: boolean;
  heartbeatMs: number;
  /** The server or the reader goes. */
  signal: AbortSignal;
}

/** Read at once, and in memory for each reader: an event has a few hundred KiB at most, and mostly hundreds of bytes. */
const EVENTS_PER_READ = 50;
/** Browsers come back after so long, in milliseconds. */
export const RETRY_MS = 2000;

/**
 * A session's events as server-sent events, at the pace of the reader: nothing is read ahead of it, and what it missed
 * it gets by the id of its last one. Of a stream that names its session while it is read, the events go on in that session.
 * Ends where the reader or the server goes, or, when not following, the story ends.
 */
export async function* toEventStream(
  deps: { database: Database; bell: LiveBell },
  options: EventStreamOptions,
): AsyncGenerator<string> {
  const { signal, heartbeatMs } = options;
  let { session, afterId } = options;
  let sentAtMs = performance.now();
  yield* paced(`retry: ${RETRY_MS}\n\n`, options);
  while (!signal.aborted) {
    const bell = deps.bell.wait(session, Math.max(1, sentAtMs + heartbeatMs - performance.now()), signal);
    try {
      // Asked before the events: those of a stream that was closed then are all there.
      const isOver = !options.isFollowing && !(await isRunning(deps.database, session));
      const events = await listLiveEvents(deps.database, session, { afterId, limit: EVENTS_PER_READ });
      if (events.length > 0) {
        yield* paced(events.map(toEventText).join(''), options);
        sentAtMs = performance.now();
        afterId = events.at(-1)?.id ?? afterId;
        continue;
      }
      const { workspaceId, sessionId: streamId } = session;
      const named = await findNamedStream(deps.database, { workspaceId, streamId }, afterId);
      if (named !== undefined) {
        session = { workspaceId, sessionId: named.sessionId };
        afterId = named.afterId;
        continue;
      }
      if (isOver) return;
      await bell.rung;
      if (performance.now() - sentAtMs < heartbeatMs) continue;
      yield* paced(': nothing new\n\n', options);
      sentAtMs = performance.now();
    } finally {
      bell.cancel();
    }
  }
}

async function isRunning(database: Database, session: LiveSessionKey): Promise<boolean> {
  return ((await findLiveSession(database, session))?.running_count ?? 0) > 0;
}

function toEventText({ id, name, data }: LiveEventRow): string {
  // JSON has no line breaks.
  return `id: ${id}\nevent: ${name}\ndata: ${data}\n\n`;
}

/** Whoever reads the generator comes back when the reader has room for more. */
export function* paced(text: string, { slowReaderTimeoutMs, onSlowReader }: Pacing): Generator<string> {
  const timer = setTimeout(onSlowReader, slowReaderTimeoutMs);
  try {
    yield text;
  } finally {
    clearTimeout(timer);
  }
}
