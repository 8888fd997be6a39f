import type { FollowedEvent } from '@recount/contract';
import { addLiveEvent, type LiveConversation, NO_LIVE_CONVERSATION } from '@recount/contract/live-conversation';
import { useEffect, useState } from 'react';
import { toUrl } from '../../server-data/client.ts';

/** Names of the events that a conversation shows. */
const EVENTS: readonly FollowedEvent['type'][] = [
  ...(['text', 'tool-start', 'tool-end', 'prompt', 'progress', 'result', 'close'] as const),
];
/** Events within this time are shown together. */
const GATHERED_MS = 50;

/** The reports of the session's streams while they run, by server-sent events; the browser reconnects by itself. */
export function useLiveConversation(sessionId: string, isRunning: boolean): LiveConversation {
  const [conversation, setConversation] = useState(NO_LIVE_CONVERSATION);
  useEffect(() => {
    if (!isRunning) return;
    setConversation(NO_LIVE_CONVERSATION);
    const source = new EventSource(toUrl('/v1/sessions/{session_id}/events', { session_id: sessionId }));
    let gathered: MessageEvent<string>[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = (): void => {
      const messages = gathered;
      gathered = [];
      timer = undefined;
      setConversation((before) =>
        messages.reduce(
          (all, { lastEventId, data }) => addLiveEvent(all, `live ${lastEventId}`, JSON.parse(data)),
          before,
        ),
      );
    };
    for (const event of EVENTS) {
      source.addEventListener(event, (message: MessageEvent<string>) => {
        gathered.push(message);
        timer ??= setTimeout(flush, GATHERED_MS);
      });
    }
    return () => {
      source.close();
      clearTimeout(timer);
    };
  }, [sessionId, isRunning]);
  return conversation;
}
