import type { Session } from '@recount/contract';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useContext, useMemo } from 'react';
import { TranscriptContext } from '../../transcript/transcript-context.ts';
import { TurnView } from '../../transcript/turn.tsx';
import { Failure, Loading } from '../../ui/states.tsx';
import { useConversation } from './use-conversation.ts';

/** The conversation of a sub-agent, within the session that started it. */
export function SubagentConversation({ session }: { session: Session }): ReactNode {
  const outer = useContext(TranscriptContext);
  const { turns, transcriptId, error, retry, loadMore, isFetching } = useConversation(
    session.session_id,
    session.updated_at,
  );
  const value = useMemo(
    () => ({ ...outer, transcriptId, sessionId: session.session_id, isSubagent: true }),
    [outer, transcriptId, session.session_id],
  );
  if (error !== null) return <Failure error={error} retry={retry} />;
  return (
    <TranscriptContext value={value}>
      <p>
        <Link to="/sessions/$sessionId" params={{ sessionId: session.session_id } as never}>
          Open it as a page
        </Link>
      </p>
      {turns.map((turn) => (
        <TurnView key={turn.message.id} turn={turn} isSelected={false} />
      ))}
      {isFetching ? (
        <Loading />
      ) : (
        loadMore && (
          <button type="button" className="quiet more" onClick={loadMore}>
            Show more of its messages
          </button>
        )
      )}
    </TranscriptContext>
  );
}
