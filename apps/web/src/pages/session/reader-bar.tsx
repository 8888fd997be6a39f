import type { OutlineTurn, SessionDetail } from '@recount/contract';
import { lazy, type ReactNode, type Ref, Suspense, useEffect, useState } from 'react';
import { TIME_ZONE } from '../../format/values.ts';
import { request, toUrl } from '../../server-data/client.ts';
import type { Expansion } from '../../transcript/expansion.ts';
import { Form } from '../../ui/form.tsx';
import { useUrlState } from '../../ui/use-url-state.ts';

const Timeline = lazy(async () => ({ default: (await import('./timeline.tsx')).Timeline }));

/** As high as the timeline, so that nothing moves when it comes. */
const NO_TIMELINE = (
  <figure className="timeline">
    <canvas height={46} />
    <figcaption className="muted">&nbsp;</figcaption>
  </figure>
);

const TYPING_PAUSE_MS = 250;

/** The whole conversation as one document, which this page is not. Secrets are replaced, sub-agents included. */
const PRINTABLE = { format: 'html', download: false, time_zone: TIME_ZONE };

export type Matches = (turn: OutlineTurn) => boolean;
export type Direction = 1 | -1;

export const isPrompt: Matches = ({ kind }) => kind === 'prompt';
export const isError: Matches = ({ is_error }) => is_error;
const isEdit: Matches = ({ is_edit }) => is_edit;

/** The sticky top of a conversation, with its timeline and navigation. */
export function ReaderBar({
  ref,
  session,
  turns,
  current,
  found,
  expansion,
  goTo,
  jump,
  goToFound,
}: {
  ref: Ref<HTMLDivElement>;
  session: SessionDetail;
  turns: readonly OutlineTurn[];
  current: number;
  /** Indexes of turns, ascending. Undefined while there is no search, or its result is unknown. */
  found: readonly number[] | undefined;
  expansion: Expansion;
  goTo: (index: number) => void;
  jump: (direction: Direction, matches: Matches) => void;
  goToFound: (direction: Direction) => void;
}): ReactNode {
  return (
    <div className="reader-bar" ref={ref}>
      <Suspense fallback={NO_TIMELINE}>
        <Timeline turns={turns} current={current} goTo={goTo} />
      </Suspense>
      <div className="row">
        <Jump label="prompt" keys={['[', ']']} jump={(direction) => jump(direction, isPrompt)} />
        <Jump label="error" keys={['N', 'n']} jump={(direction) => jump(direction, isError)} />
        <Jump label="edit" jump={(direction) => jump(direction, isEdit)} />
        <button type="button" className="quiet" onClick={() => expansion.setAll(true)}>
          Expand all
        </button>
        <button type="button" className="quiet" onClick={() => expansion.setAll(undefined)}>
          Collapse all
        </button>
        <CopyButton sessionId={session.session_id} />
        <a
          href={toUrl('/v1/sessions/{session_id}/document', { session_id: session.session_id }, PRINTABLE)}
          target="_blank"
          rel="noopener"
        >
          Printable page
        </a>
        <Form className="row find" submit={() => goToFound(1)}>
          <FindField goToPrevious={() => goToFound(-1)} />
          {found !== undefined && (
            <>
              <span className="muted" role="status">
                {toPlace(found, current)}
              </span>
              {found.length > 0 && <Jump label="match" isLabelShown={false} jump={goToFound} />}
            </>
          )}
        </Form>
      </div>
    </div>
  );
}

/** "3 of 74 messages", or "74 messages" if none of them is selected. */
function toPlace(found: readonly number[], current: number): string {
  const place = found.indexOf(current);
  const count = `${found.length.toLocaleString()} ${found.length === 1 ? 'message' : 'messages'}`;
  return place < 0 ? count : `${(place + 1).toLocaleString()} of ${count}`;
}

/** Enter goes to the next match, Shift and Enter to the previous one. */
function FindField({ goToPrevious }: { goToPrevious: () => void }): ReactNode {
  const [{ find = '' }, change] = useUrlState();
  const [text, setText] = useState(find);
  useEffect(() => {
    if (text === find) return;
    const timer = setTimeout(() => change({ find: text }, { replace: true }), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, find, change]);
  return (
    <input
      type="search"
      aria-label="Find in this session"
      placeholder="Find in this session"
      value={text}
      onChange={({ target }) => setText(target.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !event.shiftKey) return;
        event.preventDefault();
        goToPrevious();
      }}
    />
  );
}

/** Secrets that rules find are replaced, as in everything else that leaves recount. */
function CopyButton({ sessionId }: { sessionId: string }): ReactNode {
  const [state, setState] = useState('');
  const copy = async (): Promise<void> => {
    setState('Copying …');
    const query = { format: 'markdown', subagents: false, time_zone: TIME_ZONE };
    const answer = await request(toUrl('/v1/sessions/{session_id}/document', { session_id: sessionId }, query));
    await navigator.clipboard.writeText(await answer.text());
    setState('Copied');
  };
  return (
    <>
      <button
        type="button"
        className="quiet"
        onClick={() =>
          void copy().catch((error: unknown) => setState(error instanceof Error ? error.message : 'Failed'))
        }
      >
        Copy as Markdown
      </button>
      <span className="muted" role="status">
        {state}
      </span>
    </>
  );
}

function Jump({
  label,
  isLabelShown = true,
  keys,
  jump,
}: {
  label: string;
  isLabelShown?: boolean;
  keys?: [string, string];
  jump: (direction: Direction) => void;
}): ReactNode {
  return (
    <span className="jump" role="group" aria-label={`Go to ${label}`}>
      <button
        type="button"
        className="quiet"
        aria-label={`Previous ${label}`}
        title={keys && `Key ${keys[0]}`}
        onClick={() => jump(-1)}
      >
        ↑
      </button>
      {isLabelShown && label}
      <button
        type="button"
        className="quiet"
        aria-label={`Next ${label}`}
        title={keys && `Key ${keys[1]}`}
        onClick={() => jump(1)}
      >
        ↓
      </button>
    </span>
  );
}
