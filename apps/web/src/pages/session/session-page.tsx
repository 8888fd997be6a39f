import './session.css';
import '../../styles/transcript.css';
import type { SessionDetail } from '@recount/contract';
import { useParams } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { useAnswer } from '../../api/use-answer.ts';
import { createExpansion, ExpansionContext } from '../../transcript/expansion.ts';
import { TranscriptContext } from '../../transcript/transcript-context.ts';
import { Answered, Empty } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/use-url-state.ts';
import { Reader } from './reader.tsx';
import { SessionHeader } from './session-header.tsx';
import { createSubagentRenderer } from './subagents.tsx';
import { useOutline } from './use-outline.ts';

const LIVE_INTERVAL_MS = 3000;
const MAX_SUBAGENTS = 500;

/** A session: what it came to, and its conversation. */
export function SessionPage(): ReactNode {
  const { sessionId = '' } = useParams({ strict: false }) as { sessionId?: string };
  const [isRunning, setRunning] = useState(false);
  const detail = useAnswer(
    '/v1/sessions/{session_id}',
    {},
    { parameters: { session_id: sessionId }, ...(isRunning && { refetchIntervalMs: LIVE_INTERVAL_MS }) },
  );
  const running = (detail.data?.live?.running_count ?? 0) > 0;
  if (running !== isRunning) setRunning(running);
  return <Answered of={detail}>{(session) => <LoadedSession key={session.session_id} session={session} />}</Answered>;
}

function LoadedSession({ session }: { session: SessionDetail }): ReactNode {
  const { session_id: sessionId, subagent_count: subagentCount } = session;
  const [{ transcript }] = useUrlState();
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
    () => ({ transcriptId, sessionId, renderSubagent: createSubagentRenderer(subagents.data?.sessions ?? []) }),
    [transcriptId, sessionId, subagents.data],
  );
  return (
    <TranscriptContext value={context}>
      <ExpansionContext value={expansion}>
        <div className="session-page">
          <SessionHeader session={session} subagents={subagents.data?.sessions ?? []} />
          <Answered of={outline}>
            {(data) =>
              data.turns.length > 0 ? (
                <Reader conversation={conversation} outline={data} expansion={expansion} session={session} />
              ) : (
                <Empty title="The transcript holds no message that could be shown">
                  <p>Its raw bytes are there: see Raw transcript above.</p>
                </Empty>
              )
            }
          </Answered>
        </div>
      </ExpansionContext>
    </TranscriptContext>
  );
}
