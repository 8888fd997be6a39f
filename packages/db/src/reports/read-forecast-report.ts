import type { ReportBody, ReportRow } from '@recount/contract';
import { FORECAST_DAYS } from '@recount/contract/choices';
import { createLocalClock } from '@recount/core';
import type { Database } from '../database/database.ts';
import type { ReportFilter } from '../filters/report-filter.ts';
import { countHistoryDays, forecastMonth, type HourCost } from './forecast-month.ts';
import { addDays, countDays, DAY_MS, narrowTime, toLocalDay, toMonthStart } from './local-days.ts';
import { readUsageReport } from './read-usage-report.ts';

/** Hours of the history, those that clocks repeat included. */
const MAX_HOURS = 1000;
const HOUR_MS = 60 * 60_000;

type MonthRow = ReportRow<'forecast'>;

/** The current month at a moment, by the answers of `readUsageReport` to the same questions. */
export async function readForecastReport(
  database: Database,
  filter: ReportFilter,
  nowMs: number,
): Promise<ReportBody<'forecast'>> {
  const clock = createLocalClock(filter.timeZone);
  const endMs = filter.to === null ? nowMs : Date.parse(filter.to);
  // The last moment before the end, so that the end of a month is not the next one.
  const today = toLocalDay(endMs - 1, clock);
  const [start, monthEnd, startBefore] = [0, 1, -1].map((months) => toMonthStart(today, months)) as [
    string,
    string,
    string,
  ];
  const tomorrow = addDays(today, 1);
  const sameDays = addDays(startBefore, Math.min(countDays(start, tomorrow), countDays(startBefore, start)));
  const within = (from: string, to: string): ReportFilter =>
    narrowTime(filter, clock.toDayStartMs(from), clock.toDayStartMs(to));
  const readRow = async (period: MonthRow['period'], from: string, to: string): Promise<MonthRow> => {
    const { totals } = await readUsageReport(database, within(from, to), { limit: 1 });
    const { own, sessions } = totals;
    return {
      ...{ period, from, to, cost_usd: own.cost_usd, low_usd: null, high_usd: null },
      ...{ total_tokens: own.total_tokens, sessions, unpriced_responses: own.unpriced.responses },
    };
  };
  const toDate = await readRow('month-to-date', start, tomorrow);
  const rows = [
    await readRow('today', today, tomorrow),
    toDate,
    await readRow('same-days-last-month', startBefore, sameDays),
    await readRow('last-month', startBefore, start),
  ];
  const hours = await readHours(database, within(addDays(today, -FORECAST_DAYS.most), today));
  const nowHour = (clock.toLocalMs(endMs - 1) + 1 - Date.parse(today)) / HOUR_MS;
  const forecast =
    toDate.cost_usd === null
      ? undefined
      : forecastMonth({
          hours,
          today,
          nowHour: Math.min(nowHour, DAY_MS / HOUR_MS),
          monthEnd,
          toDateUsd: toDate.cost_usd,
        });
  rows.push({
    ...{ period: 'forecast', from: start, to: monthEnd, cost_usd: forecast?.costUsd ?? null },
    ...{ low_usd: forecast?.lowUsd ?? null, high_usd: forecast?.highUsd ?? null },
    ...{ total_tokens: null, sessions: null, unpriced_responses: null },
  });
  const totals = {
    month: start.slice(0, 7),
    days: countDays(start, monthEnd),
    days_left: countDays(tomorrow, monthEnd),
    history_days: countHistoryDays(hours, today),
  };
  return { rows, totals, truncated: false };
}

async function readHours(database: Database, filter: ReportFilter): Promise<HourCost[]> {
  const { rows } = await readUsageReport(database, filter, { groupBy: ['hour'], limit: MAX_HOURS });
  return rows.flatMap(({ hour, own }) =>
    hour == null ? [] : [{ day: hour.slice(0, 10), hour: Number(hour.slice(11, 13)), costUsd: own.cost_usd ?? 0 }],
  );
}
