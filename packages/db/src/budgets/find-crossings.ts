import { ANOMALY_DAYS } from '@recount/contract/choices';
import { addDays } from '../reports/local-days.ts';
import type { BudgetUnit, CrossingKind } from '../schema/budgets.ts';

/** Spending of a period that begins on a day, as `2026-03-01`. */
export interface PeriodFigure {
  start: string;
  figure: number;
}

/** A warning, as its row has it. */
export interface Crossing {
  period_start: string;
  kind: CrossingKind;
  threshold: number;
  is_late: boolean;
  figure: number;
  amount: number;
  unit: BudgetUnit;
  low: number | null;
  high: number | null;
  median: number | null;
}

interface Rules {
  amount: number;
  unit: BudgetUnit;
  thresholds: readonly number[];
  forecast_percent: number | null;
  anomaly_factor: number | null;
}

interface Spending {
  /** The first day of the current period. */
  current: string;
  today: string;
  /** Periods since the budget began, those without use may be missing. */
  periods: readonly PeriodFigure[];
  /** Days before and with those that may be anomalies. */
  days: readonly PeriodFigure[];
  /** The first day that may be an anomaly. */
  firstDay: string;
  /** The forecast of the current month. */
  forecast: { costUsd: number; lowUsd: number; highUsd: number } | undefined;
}

const NO_DETAILS = { low: null, high: null, median: null };

/** The largest relative error of a product of binary numbers: 90 % of 1.1 is more than 0.99. */
const ROUNDING = 4 * Number.EPSILON;

/** True if a figure is at least so many percent of an amount. */
const reaches = (figure: number, amount: number, percent: number): boolean =>
  figure >= ((amount * percent) / 100) * (1 - ROUNDING);

/** All that a budget warns of, by what is spent so far, in the order of periods. What was warned of is in it as well. */
export function findCrossings(rules: Rules, spending: Spending): Crossing[] {
  const { amount, unit } = rules;
  const { current, forecast, today } = spending;
  const crossings: Crossing[] = spending.periods.flatMap(({ start, figure }) =>
    rules.thresholds
      .filter((threshold) => reaches(figure, amount, threshold))
      .map((threshold) => ({
        ...{ period_start: start, kind: 'threshold' as const, threshold, is_late: start < current },
        ...{ figure, amount, unit, ...NO_DETAILS },
      })),
  );
  const spent = spending.periods.find(({ start }) => start === current)?.figure ?? 0;
  const percent = rules.forecast_percent;
  // A forecast says nothing new about what is spent already.
  if (forecast && percent !== null && !reaches(spent, amount, percent) && reaches(forecast.costUsd, amount, percent))
    crossings.push({
      ...{ period_start: current, kind: 'forecast', threshold: percent, is_late: false, amount, unit },
      ...{ figure: forecast.costUsd, low: forecast.lowUsd, high: forecast.highUsd, median: null },
    });
  if (rules.anomaly_factor === null) return crossings;
  for (const { start, figure } of spending.days) {
    if (start < spending.firstDay || start > today) continue;
    const median = findMedian(spending.days, start);
    const isFar = median !== undefined && figure > rules.anomaly_factor * median * (1 + ROUNDING);
    if (!isFar || !reaches(figure, amount, ANOMALY_DAYS.leastShare * 100)) continue;
    crossings.push({
      ...{ period_start: start, kind: 'anomaly', threshold: 0, is_late: start < today, figure, amount, unit },
      ...{ ...NO_DETAILS, median },
    });
  }
  return crossings;
}

/** The median of the days with use before a day; undefined if there are too few. */
function findMedian(days: readonly PeriodFigure[], day: string): number | undefined {
  const first = addDays(day, -ANOMALY_DAYS.most);
  const figures = days
    .filter(({ start, figure }) => start >= first && start < day && figure > 0)
    .map(({ figure }) => figure)
    .sort((a, b) => a - b);
  if (figures.length < ANOMALY_DAYS.least) return undefined;
  const middle = Math.floor(figures.length / 2);
  const [below = 0, above = 0] = [figures[middle - 1], figures[middle]];
  return figures.length % 2 === 1 ? above : (below + above) / 2;
}
