import type { LiveStream } from '@recount/contract';
import { toConversation, toVisible } from '@recount/contract/conversation';
import { type ReactNode, useEffect, useRef } from 'react';
import { TurnContent } from '../../transcript/turn.tsx';
import { Time } from '../../ui/figures.tsx';
import { useLiveConversation } from './use-live-conversation.ts';
import { refreshSession } from './use-unsettled-streams.ts';

/** Within this distance of the end, the page scrolls along with new content. */
const NEAR_END_PX = 200;

/** The words and actions of running agents, live. */
export function LiveView({ sessionId, streams }: { sessionId: string; streams: readonly LiveStream[] }): ReactNode {
  const live = useLiveConversation(sessionId, streams.length > 0);
  const endedCount = live.endedStreamIds.length;
  useEffect(() => {
    if (endedCount > 0) refreshSession(sessionId);
  }, [endedCount, sessionId]);
  const ids = new Set(streams.map(({ stream_id }) => stream_id));
  const messages = live.messages.filter(({ streamId }) => ids.has(streamId));
  useFollowing(messages);
  if (streams.length === 0) return null;
  const isOpen = streams.some(({ state, stream_id }) => state === 'open' && !live.endedStreamIds.includes(stream_id));
  return (
    <section className="live" aria-label="Running now">
      <h2 className="row">
        <span className="tag running">{isOpen ? 'running now' : 'has ended'}</span>
        <span className="muted">
          since <Time iso={streams.at(-1)?.started_at ?? null} />
        </span>
      </h2>
      {live.droppedCount > 0 && <p className="muted">Earlier output is in the transcript once the run has ended.</p>}
      {toConversation(messages).map((turn) => (
        <article key={turn.message.id} className={`turn turn-${turn.kind}`}>
          <TurnContent turn={turn} isRunning={isOpen} />
        </article>
      ))}
      <p className="muted" role="status">
        {isOpen ? toVisible(live.status).slice(0, 200) || 'Waiting for more …' : 'Its transcript is being ingested …'}
      </p>
    </section>
  );
}

/** Keeps the page scrolled to its end while it grows, if the user is reading there. */
function useFollowing(messages: readonly object[]): void {
  const isNearEnd = useRef(false);
  useEffect(() => {
    const look = (): void => {
      const { scrollHeight } = document.documentElement;
      isNearEnd.current = scrollY + innerHeight > scrollHeight - NEAR_END_PX;
    };
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, []);
  const last = messages.at(-1);
  useEffect(() => {
    if (isNearEnd.current) scrollTo({ top: document.documentElement.scrollHeight });
  }, [last]);
}
