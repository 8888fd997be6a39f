import type { LiveEvent, LiveEventName } from '@recount/contract';
import { useEffect, useState } from 'react';
import { toUrl } from '../../api/client.ts';
import { addToStory, EMPTY_STORY, type LiveStory } from './live-story.ts';

const EVENTS: readonly LiveEventName[] = [
  'stream:init',
  'stream:chunk',
  'stream:tool',
  'stream:prompt',
  'stream:progress',
  'stream:warning',
  'stream:result',
  'stream:end',
];
/** Events within this time are shown together. */
const GATHERED_MS = 50;

/** The reports of the session's streams while they run, by server-sent events; the browser reconnects by itself. */
export function useLiveStory(sessionId: string, isRunning: boolean): LiveStory {
  const [story, setStory] = useState(EMPTY_STORY);
  useEffect(() => {
    if (!isRunning) return;
    setStory(EMPTY_STORY);
    const source = new EventSource(toUrl('/v1/sessions/{session_id}/events', { session_id: sessionId }));
    let gathered: LiveEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = (): void => {
      const events = gathered;
      gathered = [];
      timer = undefined;
      setStory((before) => events.reduce(addToStory, before));
    };
    for (const event of EVENTS) {
      source.addEventListener(event, ({ lastEventId, data }: MessageEvent<string>) => {
        gathered.push({ id: Number(lastEventId), event, data: JSON.parse(data) } as LiveEvent);
        timer ??= setTimeout(flush, GATHERED_MS);
      });
    }
    return () => {
      source.close();
      clearTimeout(timer);
    };
  }, [sessionId, isRunning]);
  return story;
}
