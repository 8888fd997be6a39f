import type { LiveStream, SessionDetail } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { type ReactNode, useEffect, useRef } from 'react';
import { queryClient, useAnswer } from '../../api/use-answer.ts';
import { Fold } from '../../transcript/fold.tsx';
import { Markdown } from '../../transcript/markdown.tsx';
import { ToolCall } from '../../transcript/tool-step.tsx';
import { Time } from '../../ui/figures.tsx';
import type { LiveItem } from './live-story.ts';
import { useLiveStory } from './use-live-story.ts';

/** Until a stream that has ended is a transcript. */
const SETTLING_MS = 1000;
/** Within so much of the end, one reads along: what comes is scrolled to. */
const NEAR_END_PX = 200;

/** Streams that are not in the transcripts yet, open ones and those that have just ended. */
export function useUnsettledStreams(
  sessionId: string,
  session: SessionDetail | undefined,
  isEnabled: boolean,
): LiveStream[] {
  const streams = useAnswer('/v1/live', { session_id: sessionId, state: 'all' }, { isEnabled });
  const settled = new Set(
    session?.transcripts.filter(({ status }) => status !== 'queued' && status !== 'processing').map(({ id }) => id),
  );
  const unsettled = (streams.data?.streams ?? []).filter(({ state, transcript_id: id }) =>
    id === null ? state !== 'closed' : !settled.has(id),
  );
  const isSettling = unsettled.some(({ state }) => state !== 'open');
  useEffect(() => {
    if (!isSettling) return;
    const timer = setInterval(() => refresh(sessionId), SETTLING_MS);
    return () => clearInterval(timer);
  }, [isSettling, sessionId]);
  return isEnabled ? unsettled : [];
}

function refresh(sessionId: string): void {
  void queryClient.invalidateQueries({ queryKey: ['/v1/sessions/{session_id}', { session_id: sessionId }] });
  void queryClient.invalidateQueries({ queryKey: ['/v1/live'] });
}

/** What running agents say and do, as they do it. */
export function LiveView({ sessionId, streams }: { sessionId: string; streams: readonly LiveStream[] }): ReactNode {
  const story = useLiveStory(sessionId, streams.length > 0);
  const endedCount = story.endedStreamIds.length;
  useEffect(() => {
    if (endedCount > 0) refresh(sessionId);
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
      {story.droppedCount > 0 && (
        <p className="muted">What came earlier is in the transcript as soon as the run has ended.</p>
      )}
      {items.map((item) => (
        <article key={item.id} className={`turn turn-${item.kind === 'prompt' ? 'prompt' : 'answer'}`}>
          <LiveItemView item={item} />
        </article>
      ))}
      <p className="muted" role="status">
        {isOpen
          ? toVisible(story.status).slice(0, 200) || 'Waiting for what comes next …'
          : 'Its transcript is being ingested …'}
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

/** Stays at the end of the page while that grows, for those who read there. */
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
