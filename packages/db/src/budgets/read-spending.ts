import { ANOMALY_DAYS } from '@recount/contract/choices';
import { createLocalClock } from '@recount/core';
import type { Database } from '../database/database.ts';
import { resolveKeptFilters } from '../filters/kept-filters.ts';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { UnmatchedName } from '../filters/resolve-names.ts';
import { addDays, DAY_MS, narrowTime, toLocalDay, toMonday, toMonthStart } from '../reports/local-days.ts';
import { readForecastReport } from '../reports/read-forecast-report.ts';
import { readUsageReport } from '../reports/read-usage-report.ts';
import type { BudgetPeriod } from '../schema/budgets.ts';
import type { BudgetRow } from './budgets.ts';
import { type Crossing, findCrossings, type PeriodFigure } from './find-crossings.ts';

/** The period of a budget at a moment. */
export interface BudgetStatus {
  /** Its first day, and the day after its last one. */
  from: string;
  to: string;
  /** Dollars of the responses with a price, or tokens. */
  spent: number;
  /** Responses that the dollars lack. */
  unpricedResponses: number;
  /** For a budget of dollars and months; null without enough history. */
  forecast: { costUsd: number; lowUsd: number; highUsd: number } | null;
  /** Filters that match nothing in the workspace. */
  unmatched: readonly UnmatchedName[];
}

/** Longer ago, late uploads are not looked for. */
const MAX_LOOKBACK_DAYS = 400;

function toPeriodStart(period: BudgetPeriod, day: string): string {
  if (period === 'day') return day;
  return period === 'week' ? toMonday(day) : toMonthStart(day);
}

function toPeriodEnd(period: BudgetPeriod, start: string): string {
  if (period === 'month') return toMonthStart(start, 1);
  return addDays(start, period === 'week' ? 7 : 1);
}

type UsageFigures = Awaited<ReturnType<typeof readUsageReport>>['totals']['own'];

const toFigure = (unit: BudgetRow['unit'], { cost_usd, total_tokens }: UsageFigures): number =>
  unit === 'usd' ? (cost_usd ?? 0) : total_tokens;

/** The use of a budget's current period, by the reports on usage and on the month. Throws UnresolvedNameError. */
export async function readBudgetStatus(database: Database, budget: BudgetRow, nowMs: number): Promise<BudgetStatus> {
  const { filter, unmatched } = await resolveKeptFilters(database, budget);
  const clock = createLocalClock(budget.time_zone);
  const from = toPeriodStart(budget.period, toLocalDay(nowMs, clock));
  const to = toPeriodEnd(budget.period, from);
  const within = narrowTime(filter, clock.toDayStartMs(from), clock.toDayStartMs(to));
  const { totals } = await readUsageReport(database, within, { limit: 1 });
  return {
    ...{ from, to, spent: toFigure(budget.unit, totals.own), unpricedResponses: totals.own.unpriced.responses },
    ...{ forecast: (await readForecast(database, budget, filter, nowMs)) ?? null, unmatched },
  };
}

async function readForecast(database: Database, { period, unit }: BudgetRow, filter: ReportFilter, nowMs: number) {
  if (period !== 'month' || unit !== 'usd') return undefined;
  const { rows } = await readForecastReport(database, filter, nowMs);
  const { cost_usd: costUsd, low_usd: lowUsd, high_usd: highUsd } = rows.at(-1) ?? {};
  return costUsd == null || lowUsd == null || highUsd == null ? undefined : { costUsd, lowUsd, highUsd };
}

/**
 * Everything that a budget warns of by what is stored now, in all periods since it was created, at most 400 days back.
 * Throws UnresolvedNameError.
 */
export async function readCrossings(database: Database, budget: BudgetRow, nowMs: number): Promise<Crossing[]> {
  const { filter } = await resolveKeptFilters(database, budget);
  const clock = createLocalClock(budget.time_zone);
  const today = toLocalDay(nowMs, clock);
  const created = toLocalDay(Math.max(Date.parse(budget.created_at), nowMs - MAX_LOOKBACK_DAYS * DAY_MS), clock);
  const readFigures = async (period: BudgetPeriod, first: string): Promise<PeriodFigure[]> => {
    const within = narrowTime(filter, clock.toDayStartMs(first), clock.toDayStartMs(addDays(today, 1)));
    const page = { groupBy: [period], limit: 2 * MAX_LOOKBACK_DAYS };
    const { rows } = await readUsageReport(database, within, page);
    return rows.flatMap(({ [period]: start, own }) =>
      start == null ? [] : [{ start: start.length === 7 ? `${start}-01` : start, figure: toFigure(budget.unit, own) }],
    );
  };
  const firstDay = [created, addDays(today, -ANOMALY_DAYS.checked)].sort().at(-1) ?? today;
  return findCrossings(budget, {
    current: toPeriodStart(budget.period, today),
    today,
    periods: await readFigures(budget.period, toPeriodStart(budget.period, created)),
    days: budget.anomaly_factor === null ? [] : await readFigures('day', addDays(firstDay, -ANOMALY_DAYS.most)),
    firstDay,
    forecast: budget.forecast_percent === null ? undefined : await readForecast(database, budget, filter, nowMs),
  });
}
