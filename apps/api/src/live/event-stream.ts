import { LIVE_EVENT_SCHEMAS } from '@recount/contract';
import {
  type Database,
  findLiveSession,
  findNamedStream,
  type LiveEventRow,
  type LiveSessionKey,
  listLiveEvents,
} from '@recount/db';
import type { LiveBell } from './live-bell.ts';

/** The required speed of a reader. */
export interface Pacing {
  /** A reader that takes nothing for this long is dropped. */
  slowReaderTimeoutMs: number;
  /** Called for a reader that is too slow. Breaks the connection, because it would not read an answer either. */
  onSlowReader: () => void;
}

interface EventStreamOptions extends Pacing {
  session: LiveSessionKey;
  /** Send events after this one. */
  afterId: number;
  /** Only of streams that someone with one of these names has sent; null means all. */
  onlyNames: readonly string[] | null;
  /** True to wait for more once no stream of the session is open. */
  isFollowing: boolean;
  heartbeatMs: number;
  /** Aborted when the server stops or the reader leaves. */
  signal: AbortSignal;
}

/**
 * Number that is read and stays in memory for each reader. An event has at most a few hundred KiB, usually hundreds of
 * bytes.
 */
const EVENTS_PER_READ = 50;
/** Reconnection delay for browsers, in milliseconds. */
export const RETRY_MS = 2000;

/**
 * A session's events as server-sent events, at the reader's pace. Nothing is read ahead, and a reconnecting reader
 * continues after the id of its last event. If a stream names its session while it is read, the events continue in that
 * session. Ends when the reader or the server leaves, or, if not following, when all streams have ended.
 */
export async function* toEventStream(
  deps: { database: Database; bell: LiveBell },
  options: EventStreamOptions,
): AsyncGenerator<string> {
  const { signal, heartbeatMs, onlyNames } = options;
  let { session, afterId } = options;
  let sentAtMs = performance.now();
  yield* paced(`retry: ${RETRY_MS}\n\n`, options);
  while (!signal.aborted) {
    const bell = deps.bell.wait(session, Math.max(1, sentAtMs + heartbeatMs - performance.now()), signal);
    try {
      // Checked before the events, so if a stream was closed then, all its events are there.
      const isOver = !options.isFollowing && !(await isRunning(deps.database, session));
      const events = await listLiveEvents(deps.database, session, { afterId, limit: EVENTS_PER_READ, onlyNames });
      if (events.length > 0) {
        const text = events.map((event) => toEventText(session.sessionId, event)).join('');
        if (text !== '') {
          yield* paced(text, options);
          sentAtMs = performance.now();
        }
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

/** Empty for an event in the words of an earlier version: they are kept for a day, and no reader knows them. */
function toEventText(sessionId: string, { id, stream_id: streamId, name, data }: LiveEventRow): string {
  if (!Object.hasOwn(LIVE_EVENT_SCHEMAS, name)) return '';
  const ids = `"session_id":${JSON.stringify(sessionId)},"stream_id":${JSON.stringify(streamId)}`;
  // JSON has no line breaks.
  return `id: ${id}\nevent: ${name}\ndata: {${ids},${data.slice(1)}\n\n`;
}

/** Continue the generator when the reader has room for more. */
export function* paced(text: string, { slowReaderTimeoutMs, onSlowReader }: Pacing): Generator<string> {
  const timer = setTimeout(onSlowReader, slowReaderTimeoutMs);
  try {
    yield text;
  } finally {
    clearTimeout(timer);
  }
}
