import type { ContentBlock, Session } from '@recount/contract';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useContext, useMemo } from 'react';
import { formatMoney } from '../../format/values.ts';
import { Fold } from '../../transcript/fold.tsx';
import { TranscriptContext } from '../../transcript/transcript-context.ts';
import { TurnView } from '../../transcript/turn.tsx';
import { Failure, Loading } from '../../ui/states.tsx';
import { useConversation } from './use-conversation.ts';

/** Of what a session keeps of its first prompt. */
const COMPARED_LENGTH = 900;
const normalise = (text: string): string => text.trim().replace(/\s+/g, ' ').slice(0, COMPARED_LENGTH);

/**
 * Finds the session that a call started: the sub-agent whose first prompt is the call's. Agents name their sub-agents in ways of their own,
 * but every one hands over its prompt.
 */
export function createSubagentRenderer(subagents: readonly Session[]): (use: ContentBlock) => ReactNode {
  const byPrompt = new Map(
    subagents.flatMap((each) =>
      each.initial_prompt === null ? [] : [[normalise(each.initial_prompt.replace(/\.\.\.$/, '')), each]],
    ),
  );
  return (use) => {
    const { prompt } = (use.tool_input ?? {}) as { prompt?: unknown };
    const session = typeof prompt === 'string' ? byPrompt.get(normalise(prompt)) : undefined;
    return session === undefined ? null : <Subagent session={session} />;
  };
}

function Subagent({ session }: { session: Session }): ReactNode {
  const summary = (
    <>
      <span className="tool-name">Sub-agent’s conversation</span>
      <span className="tool-subject muted">
        {session.total_messages.toLocaleString()} messages, {formatMoney(session.cost_estimate_usd)}
      </span>
    </>
  );
  return (
    <Fold name={`subagent ${session.session_id}`} className="subagent" summary={summary}>
      {() => <SubagentConversation session={session} />}
    </Fold>
  );
}

function SubagentConversation({ session }: { session: Session }): ReactNode {
  const outer = useContext(TranscriptContext);
  const { turns, transcriptId, error, retry, loadMore, isFetching } = useConversation(
    session.session_id,
    session.updated_at,
  );
  const value = useMemo(
    () => ({ ...outer, transcriptId, sessionId: session.session_id }),
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
