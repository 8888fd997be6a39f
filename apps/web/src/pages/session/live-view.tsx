import type { LiveStream } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { type ReactNode, useEffect, useRef } from 'react';
import { Fold } from '../../transcript/fold.tsx';
import { Markdown } from '../../transcript/markdown.tsx';
import { ToolCall } from '../../transcript/tool-step.tsx';
import { Time } from '../../ui/figures.tsx';
import type { LiveItem } from './live-story.ts';
import { useLiveStory } from './use-live-story.ts';
import { refreshSession } from './use-unsettled-streams.ts';

/** Within this distance of the end, the page scrolls along with new content. */
const NEAR_END_PX = 200;

/** The words and actions of running agents, live. */
export function LiveView({ sessionId, streams }: { sessionId: string; streams: readonly LiveStream[] }): ReactNode {
  const story = useLiveStory(sessionId, streams.length > 0);
  const endedCount = story.endedStreamIds.length;
  useEffect(() => {
    if (endedCount > 0) refreshSession(sessionId);
  }, [endedCount, sessionId]);
  const ids = new Set(streams.map(({ stream_id }) => stream_id));
  const items = story.items.filter(({ streamId }) => ids.has(streamId));
  useFollowing(items);
  if (streams.length === 0) return null;
  const isOpen = streams.some(({ state, stream_id }) => state === 'open' && !story.endedStreamIds.includes(stream_id));
  return (
    <section className="live" aria-label="Running now">
      <h2 className="row">
        <span className="tag running">{isOpen ? 'running now' : 'has ended'}</span>
        <span className="muted">
          since <Time iso={streams.at(-1)?.started_at ?? null} />
        </span>
      </h2>
      {story.droppedCount > 0 && <p className="muted">Earlier output is in the transcript once the run has ended.</p>}
      {items.map((item) => (
        <article key={item.id} className={`turn turn-${item.kind === 'prompt' ? 'prompt' : 'answer'}`}>
          <LiveItemView item={item} />
        </article>
      ))}
      <p className="muted" role="status">
        {isOpen ? toVisible(story.status).slice(0, 200) || 'Waiting for more …' : 'Its transcript is being ingested …'}
      </p>
    </section>
  );
}

function LiveItemView({ item }: { item: LiveItem }): ReactNode {
  switch (item.kind) {
    case 'prompt':
    case 'answer':
      return <Markdown text={item.text} />;
    case 'thinking': {
      const summary = (
        <>
          <span className="tool-name">Thinking</span>
          <span className="tool-subject clip muted">{toVisible(item.text.trim().slice(0, 200))}</span>
        </>
      );
      return (
        <Fold name={item.id} className="thinking" summary={summary}>
          {() => <Markdown text={item.text} />}
        </Fold>
      );
    }
    case 'tool':
      return <ToolCall step={item.step} timestamp={item.timestamp} isRunning />;
    case 'notice':
      return <p className="notice">{toVisible(item.text)}</p>;
  }
}

/** Keeps the page scrolled to its end while it grows, if the user is reading there. */
function useFollowing(items: readonly LiveItem[]): void {
  const isNearEnd = useRef(false);
  useEffect(() => {
    const look = (): void => {
      const { scrollHeight } = document.documentElement;
      isNearEnd.current = scrollY + innerHeight > scrollHeight - NEAR_END_PX;
    };
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, []);
  const last = items.at(-1);
  useEffect(() => {
    if (isNearEnd.current) scrollTo({ top: document.documentElement.scrollHeight });
  }, [last]);
}
