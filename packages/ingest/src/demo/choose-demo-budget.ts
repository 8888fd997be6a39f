import type { DemoCost } from '@recount/core/demo';
import type { NewBudget } from '@recount/db';

/** Share of the budget that is spent when the demo ends. */
const SPENT_SHARE = 0.82;
/** Amount of a budget that nothing is spent of. */
const UNSPENT_USD = 150;
const DAY_MS = 86_400_000;

/**
 * The budget of the demo that ends at `nowMs` (milliseconds since 1970), in days of UTC. 82 % of it is spent in the
 * current month, or in the current week while that is longer: a month's budget of what the first days cost would be far
 * below what the month costs.
 */
export function chooseDemoBudget(nowMs: number, costs: readonly DemoCost[]): NewBudget {
  const now = new Date(nowMs);
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const sinceMonday = (now.getUTCDay() + 6) % 7;
  const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  const week = today - sinceMonday * DAY_MS;
  const spent = sumCosts(costs, { month, week });
  const isWeek = spent.week >= spent.month;
  const base = isWeek ? spent.week : spent.month;
  return {
    ...{ name: 'Company', period: isWeek ? 'week' : 'month', time_zone: 'UTC' },
    ...{ unit: 'usd', amount: base === 0 ? UNSPENT_USD : Number((base / SPENT_SHARE).toFixed(2)), filters: {} },
    ...{ thresholds: [50, 80, 100], forecast_percent: isWeek ? null : 100, anomaly_factor: 3 },
    destination_ids: null,
  };
}

/** Dollars since each of these moments. */
function sumCosts(costs: readonly DemoCost[], starts: { month: number; week: number }): typeof starts {
  const since = (startMs: number): number =>
    costs.reduce((sum, { atMs, costUsd }) => (atMs >= startMs ? sum + costUsd : sum), 0);
  return { month: since(starts.month), week: since(starts.week) };
}
