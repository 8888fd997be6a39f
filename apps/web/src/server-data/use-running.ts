import type { LiveList } from '@recount/contract';
import type { UseQueryResult } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { toUrl } from './client.ts';
import { queryClient, useAnswer } from './use-answer.ts';

const QUERY = { state: 'running' } as const;
/** Used while there is no stream. */
const POLL_INTERVAL_MS = 5000;
/** The server sends the list again much sooner. */
const SILENCE_MS = 60_000;
/** Pause after the server has refused a stream because there are too many. */
const REFUSED_PAUSE_MS = 60_000;

/**
 * Follows running sessions while the page is visible; reports whether that works. A hidden page releases its
 * connection.
 */
function followRunning(onChange: (isStreaming: boolean) => void): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const close = (): void => {
    source?.close();
    source = undefined;
    clearTimeout(timer);
    onChange(false);
  };
  const reopenAfter = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      close();
      open();
    }, ms);
  };
  const open = (): void => {
    if (document.hidden || source !== undefined) return;
    const opened = new EventSource(toUrl('/v1/live/events'));
    source = opened;
    opened.addEventListener('running', ({ data }: MessageEvent<string>) => {
      queryClient.setQueryData<LiveList>(['/v1/live', {}, QUERY], JSON.parse(data) as LiveList);
      onChange(true);
      reopenAfter(SILENCE_MS);
    });
    opened.addEventListener('error', () => {
      onChange(false);
      // Otherwise the browser reconnects by itself.
      if (opened.readyState === EventSource.CLOSED) reopenAfter(REFUSED_PAUSE_MS);
    });
  };
  const onVisibility = (): void => (document.hidden ? close() : open());
  document.addEventListener('visibilitychange', onVisibility);
  open();
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    close();
  };
}

/** Running sessions, as they happen; polled every five seconds if the stream fails. */
export function useRunning(): UseQueryResult<LiveList> {
  const [isStreaming, setIsStreaming] = useState(false);
  useEffect(() => followRunning(setIsStreaming), []);
  return useAnswer('/v1/live', QUERY, isStreaming ? {} : { refetchIntervalMs: POLL_INTERVAL_MS });
}
