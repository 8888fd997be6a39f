import type { Session } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { Count, Money, Time } from '../../ui/figures.tsx';
import { Modal } from '../../ui/modal.tsx';
import { Failure, Loading } from '../../ui/states.tsx';
import { toListSearch } from '../sessions/list-query.ts';
import { useSessionList } from './use-session-list.ts';

interface SessionListProps {
  sessionId: string;
  /** True in wide windows, where it is a column beside the conversation; else it is a dialog over it. */
  isBeside: boolean;
  close: () => void;
}

/** The sessions of the list that this one was opened from, with its filters, in its order. */
export function SessionList({ sessionId, isBeside, close }: SessionListProps): ReactNode {
  if (!isBeside) {
    return (
      <Modal title="Sessions" close={close}>
        <Sessions sessionId={sessionId} onChoice={close} />
      </Modal>
    );
  }
  return (
    <aside className="session-list" id="session-list" aria-label="Session list">
      <div className="between">
        <h2>Sessions</h2>
        <button type="button" className="quiet" onClick={close}>
          <span aria-hidden="true">×</span>
          <span className="hidden-label">Close the session list</span>
        </button>
      </div>
      <Sessions sessionId={sessionId} />
    </aside>
  );
}

function Sessions({ sessionId, onChoice }: { sessionId: string; onChoice?: () => void }): ReactNode {
  const { rows, index, total, error, retry, loadMore } = useSessionList(sessionId);
  const scroller = useRef<HTMLDivElement>(null);
  useEffect(() => showCurrent(scroller.current, index), [index]);
  if (error !== null) return <Failure error={error} retry={retry} />;
  if (rows === undefined) return <Loading />;
  return (
    <>
      <p className="muted">
        {index < 0 && 'This session is not among them: '}
        <Count value={rows.length} />
        {total !== undefined && total > rows.length && (
          <>
            {' of '}
            <Count value={total} />
          </>
        )}
      </p>
      <div className="session-list-rows" ref={scroller}>
        <ol>
          {rows.map((session) => (
            <Item key={session.session_id} session={session} onChoice={onChoice} />
          ))}
        </ol>
        {loadMore !== undefined && (
          <button type="button" className="quiet" onClick={loadMore}>
            Show more
          </button>
        )}
      </div>
    </>
  );
}

/** Scrolls the list alone, so that the current session is in sight. */
function showCurrent(scroller: HTMLElement | null, index: number): void {
  const item = index < 0 ? undefined : scroller?.querySelectorAll<HTMLElement>('li')[index];
  if (!scroller || item === undefined) return;
  const { offsetTop: top, offsetHeight: height } = item;
  const isInSight = top >= scroller.scrollTop && top + height <= scroller.scrollTop + scroller.clientHeight;
  if (!isInSight) scroller.scrollTop = top - (scroller.clientHeight - height) / 2;
}

const Item = ({ session, onChoice }: { session: Session; onChoice: (() => void) | undefined }): ReactNode => (
  <li>
    <Link
      to="/sessions/$sessionId"
      params={{ sessionId: session.session_id } as never}
      search={toListSearch as never}
      activeOptions={{ includeSearch: false }}
      title={toVisible(session.title)}
      onClick={onChoice}
    >
      <span className="session-list-title">{toVisible(session.title)}</span>
      <span className="between muted">
        <Time iso={session.last_timestamp} />
        <Money value={session.cost_estimate_usd} />
      </span>
    </Link>
  </li>
);
