import type { Outline, Session, SessionDetail } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { toShortModel } from '../../format/values.ts';
import { Time } from '../../ui/figures.tsx';
import { Loading, Pending } from '../../ui/states.tsx';
import { toListSearch } from '../sessions/list-query.ts';
import { AnnotatedTitle } from './annotation.tsx';
import { Repository } from './repository.tsx';
import { useSessionChanges } from './session-changes.tsx';
import { ShareButton } from './share-button.tsx';

/** Loaded once there are any. */
const ChangedFiles = lazy(async () => ({ default: (await import('./changed-files.tsx')).ChangedFiles }));
const PullRequests = lazy(async () => ({ default: (await import('./pull-requests.tsx')).PullRequests }));
/** Loaded after the title. */
const SessionDetails = lazy(async () => ({ default: (await import('./session-details.tsx')).SessionDetails }));
/** Loaded when it is opened. */
const CostPanel = lazy(async () => ({ default: (await import('./cost-panel.tsx')).CostPanel }));

/** The session's description and totals. */
export function SessionHeader({
  session,
  steps,
  subagents,
  isFindingSubagents,
  transcriptId,
  outline,
}: {
  session: SessionDetail;
  /** The way to other sessions of the list. */
  steps: ReactNode;
  subagents: readonly Session[];
  /** True until they are known. */
  isFindingSubagents: boolean;
  /** The version shown, if it is not the primary one. */
  transcriptId: string | undefined;
  outline: Outline | undefined;
}): ReactNode {
  const [isCostOpen, setCostOpen] = useState(false);
  const { changes, isLoading } = useSessionChanges(session, transcriptId);
  return (
    <header className="session-header in-order">
      <div className="between">
        <div className="row muted">
          <Link to="/sessions" search={toListSearch as never}>
            Sessions
          </Link>
          {session.parent_session_id !== null && (
            <>
              /
              <Link to="/sessions/$sessionId" params={{ sessionId: session.parent_session_id } as never}>
                the session that started this sub-agent
              </Link>
            </>
          )}
          {steps}
        </div>
        <ShareButton sessionId={session.session_id} />
      </div>
      <AnnotatedTitle session={session} />
      <Facts session={session} />
      {(isLoading || isFindingSubagents) && <Pending />}
      <Suspense fallback={<Pending />}>
        <SessionDetails session={session} subagents={subagents} changes={changes}>
          <details onToggle={({ currentTarget }) => setCostOpen(currentTarget.open)}>
            <summary>Where the cost comes from</summary>
            {isCostOpen && (
              <Suspense fallback={<Loading />}>
                <CostPanel session={session} outline={outline} />
              </Suspense>
            )}
          </details>
          <Suspense fallback={<Pending />}>{changes !== undefined && <ChangedFiles changes={changes} />}</Suspense>
        </SessionDetails>
      </Suspense>
    </header>
  );
}

/** The place of a session, and its subject. */
const Facts = ({ session }: { session: SessionDetail }): ReactNode => (
  <p className="session-facts">
    {(session.live?.running_count ?? 0) > 0 && <span className="tag running">running now</span>}
    <span>{session.agent}</span>
    {session.project !== null && (
      <Link to="/sessions" search={{ project: session.project } as never} title={session.project}>
        {toVisible(session.project)}
      </Link>
    )}
    <Repository address={session.repository_url ?? session.repository} commit={session.commit_hash} />
    {session.git_branch !== null && <span className="mono">{toVisible(session.git_branch)}</span>}
    <Suspense fallback={<Pending />}>
      <PullRequests sessionId={session.session_id} />
    </Suspense>
    {session.person !== null && (
      <Link
        to="/sessions"
        search={{ person: session.person } as never}
        title={session.person === session.sent_person ? '' : `Uploaded as ${session.sent_person}`}
      >
        {toVisible(session.person)}
      </Link>
    )}
    <span title={session.models.join(', ')}>{session.models.map(toShortModel).join(', ')}</span>
    <Time iso={session.first_timestamp} />
  </p>
);
