import './session.css';
import '../../styles/transcript.css';
import type { SessionDetail } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { useParams } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import { ApiError } from '../../server-data/client.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { createExpansion, ExpansionContext } from '../../transcript/expansion.ts';
import { TranscriptContext } from '../../transcript/transcript-context.ts';
import { Answered, Empty, Pending } from '../../ui/states.tsx';
import { usePageTitle } from '../../ui/use-page-title.ts';
import { useUrlState } from '../../ui/use-url-state.ts';
import { Reader } from './reader.tsx';
import { SessionHeader } from './session-header.tsx';
import { createSubagentRenderer } from './subagents.tsx';
import { useListOpen } from './use-list-open.ts';
import { useOutline } from './use-outline.ts';
import { useUnsettledStreams } from './use-unsettled-streams.ts';

/** Loaded with the first running stream. */
const LiveView = lazy(async () => ({ default: (await import('./live-view.tsx')).LiveView }));

/** Loaded after the session. */
const SessionList = lazy(async () => ({ default: (await import('./session-list.tsx')).SessionList }));
const SessionSteps = lazy(async () => ({ default: (await import('./session-steps.tsx')).SessionSteps }));

const MAX_SUBAGENTS = 500;
/** Polling interval while a session's first stream runs and there is no transcript. */
const FIRST_TRANSCRIPT_MS = 5000;

/** A session with its totals, its conversation, and its activity while it runs. */
export function SessionPage(): ReactNode {
  const { sessionId = '' } = useParams({ strict: false }) as { sessionId?: string };
  const { isOpen, isBeside, setOpen } = useListOpen();
  return (
    <div className="session-layout" data-list={isOpen && isBeside}>
      {isOpen && (
        <Suspense fallback={isBeside && <div className="session-list" />}>
          <SessionList sessionId={sessionId} isBeside={isBeside} close={() => setOpen(false)} />
        </Suspense>
      )}
      <SessionOrStream
        key={sessionId}
        sessionId={sessionId}
        steps={
          <Suspense fallback={<Pending />}>
            <SessionSteps sessionId={sessionId} isListOpen={isOpen} toggleList={() => setOpen(!isOpen)} />
          </Suspense>
        }
      />
    </div>
  );
}

/**
 * A session whose first stream is still running has no transcript, and so no figures. Only its live output is shown.
 */
function SessionOrStream({ sessionId, steps }: { sessionId: string; steps: ReactNode }): ReactNode {
  const [wasMissing, setWasMissing] = useState(false);
  const [isFirstRun, setFirstRun] = useState(false);
  const detail = useAnswer(
    '/v1/sessions/{session_id}',
    {},
    { parameters: { session_id: sessionId }, ...(isFirstRun && { refetchIntervalMs: FIRST_TRANSCRIPT_MS }) },
  );
  if (!wasMissing && detail.error instanceof ApiError && detail.error.status === 404) setWasMissing(true);
  // While it is being requested again, there is no error.
  const isUnknown = wasMissing && detail.data === undefined;
  const isRunning = (detail.data?.live?.running_count ?? 0) > 0;
  const [wasRunning, setWasRunning] = useState(false);
  if (isRunning && !wasRunning) setWasRunning(true);
  const streams = useUnsettledStreams(sessionId, detail.data, isUnknown || wasRunning);
  if (isFirstRun !== (isUnknown && streams.length > 0)) setFirstRun(!isFirstRun);
  const [hasRun, setHasRun] = useState(false);
  if (streams.length > 0 && !hasRun) setHasRun(true);
  const live = hasRun && (
    <Suspense>
      <LiveView sessionId={sessionId} streams={streams} />
    </Suspense>
  );
  if (isFirstRun)
    return (
      <div className="session-page">
        <h1>New session</h1>
        <p className="muted">{toVisible(sessionId)}. This is its first run: figures appear with its transcript.</p>
        {live}
      </div>
    );
  return (
    <Answered of={detail}>
      {(session) => (
        <LoadedSession session={session} steps={steps}>
          {live}
        </LoadedSession>
      )}
    </Answered>
  );
}

function LoadedSession({
  session,
  steps,
  children,
}: {
  session: SessionDetail;
  steps: ReactNode;
  children: ReactNode;
}): ReactNode {
  const { session_id: sessionId, subagent_count: subagentCount } = session;
  const [{ transcript }] = useUrlState();
  usePageTitle(toVisible(session.title));
  const conversation = { sessionId, transcriptId: transcript, revision: session.updated_at };
  const outline = useOutline(conversation);
  const subagents = useAnswer(
    '/v1/sessions/{session_id}/subagents',
    { limit: MAX_SUBAGENTS, sort: 'first_timestamp', order: 'asc' },
    { parameters: { session_id: sessionId }, isEnabled: subagentCount > 0 || !session.is_subagent },
  );
  const [expansion] = useState(createExpansion);
  const transcriptId = outline.data?.transcript_id ?? '';
  const context = useMemo(
    () => ({
      transcriptId,
      sessionId,
      isSubagent: session.is_subagent,
      renderSubagent: createSubagentRenderer(subagents.data?.sessions ?? []),
    }),
    [transcriptId, sessionId, session.is_subagent, subagents.data],
  );
  return (
    <TranscriptContext value={context}>
      <ExpansionContext value={expansion}>
        <div className="session-page">
          <SessionHeader
            session={session}
            steps={steps}
            subagents={subagents.data?.sessions ?? []}
            isFindingSubagents={subagents.isLoading}
            transcriptId={transcript}
            outline={outline.data}
          />
          <Answered of={outline}>
            {(data) =>
              data.turns.length > 0 ? (
                <Reader conversation={conversation} outline={data} expansion={expansion} session={session} />
              ) : (
                <Empty title="The transcript has no message to show">
                  <p>See Raw transcript above for its bytes.</p>
                </Empty>
              )
            }
          </Answered>
          {children}
        </div>
      </ExpansionContext>
    </TranscriptContext>
  );
}
