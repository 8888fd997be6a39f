import type { ReportCaveats } from '@recount/contract';
import type { ReactNode } from 'react';
import { formatCount, formatMoney, formatPercent } from '../format/values.ts';
import { useAnswer } from '../server-data/use-answer.ts';
import { Caveats } from '../ui/caveats.tsx';
import { Modal } from '../ui/modal.tsx';
import { Answered } from '../ui/states.tsx';
import type { ViewQuery } from './use-view.ts';

export interface TrustProps {
  caveats: ReportCaveats;
  /** The cost that the line is about; null if nothing is priced. */
  cost: number | null;
  query: ViewQuery;
  /** The report's time, as parameters of the sessions page. */
  time?: Readonly<Record<string, string>>;
}

/** All that is known of how exact a total is. */
export function TrustDrawer({ caveats, query, time = {}, close }: TrustProps & { close: () => void }): ReactNode {
  return (
    <Modal title="How exact is this?" close={close}>
      <p>
        Each API response counts once, at the list price of its model on its day, or at your own price. Subscriptions
        and discounts are not part of it.
      </p>
      <Caveats caveats={caveats} time={time} />
      <Reconciliation query={query} />
      <p className="muted">
        The prices and what is missing are in <code>docs/accuracy.md</code>.
      </p>
      <div className="row">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Modal>
  );
}

/** The agents' own totals beside ours. */
function Reconciliation({ query }: { query: TrustProps['query'] }): ReactNode {
  const report = useAnswer('/v1/analytics/reconciliation', { ...query, limit: 1 });
  return (
    <Answered of={report}>
      {({ totals }) =>
        totals.sessions === 0 ? (
          <p>No agent reported a total for these sessions.</p>
        ) : (
          <p>
            In {formatCount(totals.sessions)} sessions the agent wrote its own total:{' '}
            {formatMoney(totals.reported_cost_usd)} in all. recount counts {formatMoney(totals.computed_cost_usd)} for
            them
            {totals.difference_ratio !== null && ` (${formatPercent(totals.difference_ratio)} apart)`};{' '}
            {formatCount(totals.sessions_within_one_percent)} are within 1%.
          </p>
        )
      }
    </Answered>
  );
}
