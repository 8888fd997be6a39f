import { FORECAST_DAYS } from '@recount/contract/choices';
import { addDays, countDays, isWeekend } from './local-days.ts';

/** Cost of one local hour. */
export interface HourCost {
  /** `2026-03-01`. */
  day: string;
  /** 0 to 23. */
  hour: number;
  costUsd: number;
}

export interface Forecast {
  costUsd: number;
  lowUsd: number;
  highUsd: number;
}

/**
 * Nine of ten draws from a normal distribution are within this many standard deviations of its mean. Of made months, about
 * four of five are, because weeks differ and sums of few days are not normal (docs/dashboard.md).
 */
const SPREADS = 1.6449;

/** The complete days before today that a forecast is made from: from the first one with use, if that is recent. */
export function countHistoryDays(hours: readonly HourCost[], today: string): number {
  const [first = today] = hours.map(({ day }) => day).sort();
  return Math.min(FORECAST_DAYS.most, countDays(first, today));
}

/**
 * Adds to what was spent so far, for each day left, the mean of the history's days of its kind (Monday to Friday, or
 * weekend), and for the rest of today, what such days cost after this time of day. The range is for a sum of days
 * that vary as the history's do, each by itself.
 *
 * @param hours of the history and of nothing else; hours without use may be missing
 * @param nowHour hours of today that are over, with fractions, from 0 to 24
 * @returns undefined without enough history
 */
export function forecastMonth({
  hours,
  today,
  nowHour,
  monthEnd,
  toDateUsd,
}: {
  hours: readonly HourCost[];
  today: string;
  nowHour: number;
  /** The first day of the next month. */
  monthEnd: string;
  /** Cost of the month so far. */
  toDateUsd: number;
}): Forecast | undefined {
  const historyDays = countHistoryDays(hours, today);
  if (historyDays < FORECAST_DAYS.least) return undefined;
  const costs = new Map<string, number>();
  const rests = new Map<string, number>();
  for (const { day, hour, costUsd } of hours) {
    costs.set(day, (costs.get(day) ?? 0) + costUsd);
    const part = Math.min(1, Math.max(0, hour + 1 - nowHour));
    rests.set(day, (rests.get(day) ?? 0) + costUsd * part);
  }
  const history = Array.from({ length: historyDays }, (_, index) => addDays(today, -1 - index));
  const parts = [
    ...[false, true].map((isFree) => ({
      days: Array.from({ length: countDays(today, monthEnd) - 1 }, (_, index) => addDays(today, 1 + index)).filter(
        (day) => isWeekend(day) === isFree,
      ).length,
      samples: history.filter((day) => isWeekend(day) === isFree).map((day) => costs.get(day) ?? 0),
    })),
    {
      days: 1,
      samples: history.filter((day) => isWeekend(day) === isWeekend(today)).map((day) => rests.get(day) ?? 0),
    },
  ];
  const sums = parts.map(({ days, samples }) => {
    const mean = samples.reduce((sum, value) => sum + value, 0) / samples.length;
    const variance = samples.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (samples.length - 1);
    // The mean itself is uncertain, and wrong for all days alike.
    return { mean: days * mean, variance: days * variance + (days ** 2 * variance) / samples.length };
  });
  const mean = sums.reduce((sum, part) => sum + part.mean, 0);
  const spread = SPREADS * Math.sqrt(sums.reduce((sum, { variance }) => sum + variance, 0));
  return {
    costUsd: toDateUsd + mean,
    lowUsd: toDateUsd + Math.max(0, mean - spread),
    highUsd: toDateUsd + mean + spread,
  };
}
