import { setTimeout as sleep } from 'node:timers/promises';
import { liveListSchema, MAX_LIVE_STREAMS_LISTED } from '@recount/contract';
import { type Database, listLiveStreams } from '@recount/db';
import { type Pacing, paced, RETRY_MS } from './event-stream.ts';
import type { LiveBell } from './live-bell.ts';
import { toLiveStream } from './to-live-stream.ts';

/** Active agents cause many notifications a second; they share one read of the list. */
const MIN_INTERVAL_MS = 1000;

interface RunningStreamOptions extends Pacing {
  workspaceId: string;
  /** Takes out of a list what the reader may not see; null if that is nothing. */
  reveal: (<Answer>(answer: Answer) => Promise<Answer>) | null;
  /** The list is sent again after this long without a change. */
  heartbeatMs: number;
  /** Aborted when the server stops or the reader leaves. */
  signal: AbortSignal;
}

/** A workspace's running streams as server-sent events, with the whole list first, and again whenever it changes. */
export async function* toRunningStream(
  { database, bell }: { database: Database; bell: LiveBell },
  options: RunningStreamOptions,
): AsyncGenerator<string> {
  const { workspaceId, reveal, heartbeatMs, signal } = options;
  let last = '';
  let sentAtMs = Number.NEGATIVE_INFINITY;
  yield* paced(`retry: ${RETRY_MS}\n\n`, options);
  while (!signal.aborted) {
    const leftMs = Math.max(1, sentAtMs + heartbeatMs - performance.now());
    // Registered before reading the list, so that no change is missed.
    const ring = bell.waitForWorkspace(workspaceId, Math.min(heartbeatMs, leftMs), signal);
    try {
      const rows = await listLiveStreams(database, workspaceId, { isOpen: true }, MAX_LIVE_STREAMS_LISTED);
      const list = liveListSchema.parse({ streams: rows.map(toLiveStream) });
      const data = JSON.stringify(reveal === null ? list : await reveal(list));
      if (data !== last || performance.now() - sentAtMs >= heartbeatMs) {
        last = data;
        sentAtMs = performance.now();
        yield* paced(`event: running\ndata: ${data}\n\n`, options);
      }
      await ring.rung;
    } finally {
      ring.cancel();
    }
    await sleep(Math.min(MIN_INTERVAL_MS, heartbeatMs), undefined, { signal }).catch(() => undefined);
  }
}
