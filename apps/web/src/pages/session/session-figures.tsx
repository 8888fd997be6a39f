import type { SessionChanges, SessionDetail } from '@recount/contract';
import type { ReactNode } from 'react';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Count, Duration, Money, Tokens } from '../../ui/figures.tsx';
import { Pending } from '../../ui/states.tsx';
import { CHANGES_NOTE, ChangedLines } from './session-changes.tsx';

/** The report on this session alone. */
export const useSessionTotals = ({ session_id }: SessionDetail) =>
  useAnswer('/v1/analytics/sessions', { session_id, subagents: 'include', top: 0 });

/** The session's totals. */
export function SessionFigures({
  session,
  changes,
}: {
  session: SessionDetail;
  changes: SessionChanges | undefined;
}): ReactNode {
  const active = useSessionTotals(session);
  return (
    <dl className="strip together">
      {active.isLoading && <Pending />}
      <Costs session={session} />
      <Item label="Input" note="Without cached tokens">
        <Tokens value={session.tokens_in} />
      </Item>
      <Item label="Cache read">
        <Tokens value={session.cache_read} />
      </Item>
      <Item label="Cache write">
        <Tokens value={session.cache_write} />
      </Item>
      <Item label="Output">
        <Tokens value={session.tokens_out} />
      </Item>
      <Item label="Messages">
        <Count value={session.total_messages} />
      </Item>
      <Item label="Tool calls">
        <Count value={session.tool_use_count} />
      </Item>
      {changes !== undefined && (
        <Item label="Lines changed (approx.)" note={CHANGES_NOTE}>
          <ChangedLines of={changes} /> <span className="muted">lines</span>
        </Item>
      )}
      <Item label="Duration">
        <Duration ms={session.duration_ms} />
      </Item>
      <Item label="Active" note="Without pauses of more than five minutes">
        <Duration ms={active.data?.totals.active_ms ?? null} />
      </Item>
    </dl>
  );
}

/** Total, own and shared cost, compared with the agent's own figure. */
function Costs({ session }: { session: SessionDetail }): ReactNode {
  const { usage, session_id: sessionId } = session;
  const reconciliation = useAnswer('/v1/analytics/reconciliation', { session_id: sessionId });
  const row = reconciliation.data?.rows.find(({ session_id }) => session_id === sessionId);
  return (
    <>
      {reconciliation.isLoading && <Pending />}
      <Item label="Cost" note="By the prices of this workspace; every response that the transcript holds">
        <Money value={session.cost_estimate_usd} />
      </Item>
      {usage.shared.responses > 0 && (
        <>
          <Item
            label="Not shared"
            note="Responses that only this session counts. Over all sessions, own costs add up to the total"
          >
            <Money value={usage.own.cost_usd} />
          </Item>
          <Item
            label="Shared"
            note="Copies of responses that are counted in another session, as this one was forked or resumed from it"
          >
            <Money value={usage.shared.cost_usd} />
          </Item>
        </>
      )}
      {row !== undefined && (
        <Item
          label="Agent’s own total"
          note="The cost that the agent itself reports, sub-agents included; and ours minus it"
        >
          <Money value={row.reported_cost_usd} />{' '}
          <span className="muted">
            (<Money value={row.difference_usd} /> apart)
          </span>
        </Item>
      )}
    </>
  );
}

const Item = ({ label, note, children }: { label: string; note?: string; children: ReactNode }): ReactNode => (
  <div title={note}>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
);
