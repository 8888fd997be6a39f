import '../ui/budget-use.css';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { formatCounted, TIME_ZONE } from '../format/values.ts';
import type { Answer } from '../server-data/client.ts';
import { useAnswer } from '../server-data/use-answer.ts';
import { Money, Percent, Time, Tokens } from '../ui/figures.tsx';
import { Pending } from '../ui/states.tsx';

type Plan = Answer<'/v1/analytics/plans'>['rows'][number];

/**
 * Subscriptions with the value used of them: of the people of the filters, or all. Nothing without plans, and with
 * filters of other kinds, whose use is only a part of what a plan is for.
 */
export function Plans({ filters }: { filters: Readonly<Record<string, unknown>> }): ReactNode {
  const isWhole = Object.keys(filters).every((name) => name === 'person');
  const report = useAnswer('/v1/analytics/plans', { time_zone: TIME_ZONE, ...filters }, { isEnabled: isWhole });
  if (report.isLoading) return <Pending />;
  const plans = report.data?.rows ?? [];
  if (plans.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="plans">
      <div className="between">
        <h2 id="plans">Plans</h2>
        <Link to="/admin" search={{ view: 'plans' } as never}>
          Change plans
        </Link>
      </div>
      <ul className="budget-list">
        {plans.map((plan) => (
          <li key={JSON.stringify([plan.plan, plan.person, plan.agent])}>
            <PlanUse plan={plan} />
          </li>
        ))}
      </ul>
      <p className="muted">Value at list prices, this month. A plan itself costs what its price says.</p>
    </section>
  );
}

function PlanUse({ plan: { plan, person, agent, seats, price_usd, ...use } }: { plan: Plan }): ReactNode {
  const { month_usd, month_share, forecast_usd, last_month_usd, unpriced_responses: unpriced, week, block } = use;
  const end = Math.max(1, month_share ?? 0, price_usd > 0 ? (forecast_usd ?? 0) / price_usd : 0);
  return (
    <>
      <span>
        <strong>{toVisible(plan)}</strong>{' '}
        <span className="muted">
          {person === null ? formatCounted(seats, 'seat') : toVisible(person)}
          {agent !== null && `, ${agent}`}
        </span>
      </span>
      <div className="budget-use">
        <div className="budget-bar" aria-hidden="true">
          <div style={{ width: `${((month_share ?? 0) / end) * 100}%` }} />
          {end > 1 && <span style={{ left: `${100 / end}%` }} />}
        </div>
        <p>
          <Money value={month_usd} /> used of a <Money value={price_usd} /> plan
          {month_share !== null && (
            <>
              , <Percent value={month_share} />
            </>
          )}
          {forecast_usd !== null && (
            <>
              , projected <Money value={forecast_usd} />
            </>
          )}
          <span className="muted">
            {' '}
            (last month <Money value={last_month_usd} />)
          </span>
        </p>
        <p className="muted">
          Last 7 days <Money value={week.cost_usd} />, <Tokens value={week.total_tokens} /> tokens
          {block !== null && (
            <>
              {' · '}5-hour window until <Time iso={block.to} />: <Money value={block.cost_usd} />,{' '}
              <Tokens value={block.total_tokens} /> tokens
            </>
          )}
        </p>
        {unpriced > 0 && <p className="muted">{formatCounted(unpriced, 'response')} without a price not included.</p>}
      </div>
    </>
  );
}
