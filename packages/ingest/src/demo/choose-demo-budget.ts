import { identifyTranscript, parseTranscript } from '@recount/core';
import { generateDemo } from '@recount/core/demo';
import type { NewBudget } from '@recount/db';
import { createListPrices } from '@recount/prices';

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
export async function chooseDemoBudget(nowMs: number): Promise<NewBudget> {
  const now = new Date(nowMs);
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const sinceMonday = (now.getUTCDay() + 6) % 7;
  const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  const week = today - sinceMonday * DAY_MS;
  const spent = await sumCosts(nowMs, { month, week });
  const isWeek = spent.week >= spent.month;
  const base = isWeek ? spent.week : spent.month;
  return {
    ...{ name: 'Company', period: isWeek ? 'week' : 'month', time_zone: 'UTC' },
    ...{ unit: 'usd', amount: base === 0 ? UNSPENT_USD : Number((base / SPENT_SHARE).toFixed(2)), filters: {} },
    ...{ thresholds: [50, 80, 100], forecast_percent: isWeek ? null : 100, anomaly_factor: 3 },
    destination_ids: null,
  };
}

/** Dollars of the demo at list prices since each of these moments. */
async function sumCosts<Name extends string>(
  nowMs: number,
  starts: Readonly<Record<Name, number>>,
): Promise<Record<Name, number>> {
  const prices = createListPrices();
  const names = Object.keys(starts) as Name[];
  const sums = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
  // Sessions end within a day.
  const firstMs = Math.min(...names.map((name) => starts[name])) - DAY_MS;
  for (const { path, text, startMs } of generateDemo(nowMs)) {
    if (startMs < firstMs) continue;
    const bytes = Buffer.from(text);
    const { format, sessionId } = identifyTranscript({ path, head: bytes });
    const { apiResponses } = await parseTranscript(sessionId ?? '', bytes, { format, prices });
    for (const { timestamp, cost_usd } of apiResponses) {
      const atMs = Date.parse(timestamp ?? '');
      for (const name of names) if (atMs >= starts[name]) sums[name] += Number(cost_usd);
    }
  }
  return sums;
}
