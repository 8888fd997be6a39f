import type { LiveList } from '@recount/contract';
import type { UseQueryResult } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { queryClient, useAnswer } from './use-answer.ts';

const QUERY = { state: 'running' } as const;
/** While there is no stream. */
const POLL_INTERVAL_MS = 5000;
/** The server sends the list again long before. */
const SILENCE_MS = 60_000;
/** After the server has refused a stream, as there are too many. */
const REFUSED_PAUSE_MS = 60_000;

/** Follows what runs while the page is looked at; says whether that works. A hidden page gives its connection back. */
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
    const opened = new EventSource('/v1/live/events');
    source = opened;
    opened.addEventListener('running', ({ data }: MessageEvent<string>) => {
      queryClient.setQueryData<LiveList>(['/v1/live', {}, QUERY], JSON.parse(data) as LiveList);
      onChange(true);
      reopenAfter(SILENCE_MS);
    });
    opened.addEventListener('error', () => {
      onChange(false);
      // Otherwise the browser comes back by itself.
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

/** What runs now, as it happens; by asking every five seconds where the stream fails. */
export function useRunning(): UseQueryResult<LiveList> {
  const [isStreaming, setIsStreaming] = useState(false);
  useEffect(() => followRunning(setIsStreaming), []);
  return useAnswer('/v1/live', QUERY, isStreaming ? {} : { refetchIntervalMs: POLL_INTERVAL_MS });
}
