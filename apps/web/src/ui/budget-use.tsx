import './budget-use.css';
import type { Budget } from '@recount/contract';
import type { ReactNode } from 'react';
import { formatCounted } from '../format/values.ts';
import { Money, Percent, Tokens } from './figures.tsx';

/** A figure in the unit of a budget. */
export const BudgetAmount = ({ unit, value }: { unit: Budget['unit']; value: number }): ReactNode =>
  unit === 'usd' ? <Money value={value} /> : <Tokens value={value} />;

/** The filters of a budget or digest, in words. */
export const toCounted = ({ filters }: Pick<Budget, 'filters'>): string =>
  Object.entries(filters)
    .map(([key, value]) => `${key.replace('_', ' ')} ${[value].flat().join(' or ')}`)
    .join(', ') || 'everything';

/** The use of a budget in its current period, as a bar and in words, with the forecast if it has one. */
export function BudgetUse({ budget: { amount, status, unit } }: { budget: Budget }): ReactNode {
  if (status === null) return <span className="muted">Its filters match too many names</span>;
  const { forecast, spent, spent_share: share, unpriced_responses: unpriced, unmatched } = status;
  const end = Math.max(1, share, (forecast?.cost_usd ?? 0) / amount);
  const state = share >= 1 ? 'over' : share >= 0.8 ? 'near' : 'within';
  return (
    <div className="budget-use">
      <div className={`budget-bar ${state}`} aria-hidden="true">
        <div style={{ width: `${(share / end) * 100}%` }} />
        {end > 1 && <span style={{ left: `${100 / end}%` }} />}
      </div>
      <p>
        <BudgetAmount unit={unit} value={spent} /> of <BudgetAmount unit={unit} value={amount} />,{' '}
        <Percent value={share} />
        {forecast !== null && (
          <>
            , forecast <Money value={forecast.cost_usd} />
            {forecast.low_usd !== forecast.high_usd && (
              <span className="muted">
                {' '}
                (likely <Money value={forecast.low_usd} /> to <Money value={forecast.high_usd} />)
              </span>
            )}
          </>
        )}
      </p>
      {unpriced > 0 && unit === 'usd' && (
        <p className="muted">Not included: {formatCounted(unpriced, 'response')} without a price.</p>
      )}
      {unmatched.map((message) => (
        <p key={message} className="muted">
          {message}
        </p>
      ))}
    </div>
  );
}
