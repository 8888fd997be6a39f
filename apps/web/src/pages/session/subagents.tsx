import type { Session } from '@recount/contract';
import type { ShownBlock } from '@recount/contract/conversation';
import { lazy, type ReactNode, Suspense } from 'react';
import { formatMoney } from '../../format/values.ts';
import { Fold } from '../../transcript/fold.tsx';
import { Loading } from '../../ui/states.tsx';

/** Loaded when the first one is opened. */
const SubagentConversation = lazy(async () => ({
  default: (await import('./subagent-conversation.tsx')).SubagentConversation,
}));

/** Length of a session's stored first prompt that is compared. */
const COMPARED_LENGTH = 900;
const normalise = (text: string): string => text.trim().replace(/\s+/g, ' ').slice(0, COMPARED_LENGTH);

/**
 * Finds the session that a call started. It is the sub-agent whose first prompt is the call's. Agents name sub-agents
 * in different ways, but all pass on the prompt.
 */
export function createSubagentRenderer(subagents: readonly Session[]): (use: ShownBlock) => ReactNode {
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
      {() => (
        <Suspense fallback={<Loading />}>
          <SubagentConversation session={session} />
        </Suspense>
      )}
    </Fold>
  );
}
