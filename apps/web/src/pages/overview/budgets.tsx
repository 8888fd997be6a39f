import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAnswer } from '../../server-data/use-answer.ts';
import { BudgetUse, toCounted } from '../../ui/budget-use.tsx';
import { Pending } from '../../ui/states.tsx';

/** Budgets with the largest share spent; Admin has them all. */
const MAX_SHOWN = 6;

/** The budgets of the workspace with what is spent of them, whatever the filters and the time of the page are. */
export function Budgets(): ReactNode {
  const { data, isLoading } = useAnswer('/v1/budgets', {});
  if (isLoading) return <Pending />;
  if (data === undefined || data.budgets.length === 0) return null;
  const toShare = (budget: (typeof data.budgets)[number]): number => budget.status?.spent_share ?? 0;
  const budgets = data.budgets.toSorted((a, b) => toShare(b) - toShare(a));
  return (
    <section className="panel" aria-labelledby="budgets">
      <div className="between">
        <h2 id="budgets">Budgets</h2>
        <Link to="/admin" search={{ view: 'budgets' } as never}>
          {budgets.length > MAX_SHOWN ? `All ${budgets.length} budgets` : 'Change budgets'}
        </Link>
      </div>
      <ul className="budget-list">
        {budgets.slice(0, MAX_SHOWN).map((budget) => (
          <li key={budget.id}>
            <span>
              <strong>{budget.name}</strong>{' '}
              <span className="muted">
                {budget.period}, {toCounted(budget)}
              </span>
            </span>
            <BudgetUse budget={budget} />
          </li>
        ))}
      </ul>
    </section>
  );
}
