import { describe, expect, it } from 'vitest';
import { forecastMonth, type HourCost } from './forecast-month.ts';
import { addDays, isWeekend } from './local-days.ts';

/** A Wednesday. */
const TODAY = '2026-03-18';

/** As many days before today, each with this cost at nine and the same at fifteen o'clock. */
const toHours = (days: number, toCost: (day: string) => number): HourCost[] =>
  Array.from({ length: days }, (_, index) => addDays(TODAY, -1 - index)).flatMap((day) =>
    [9, 15].map((hour) => ({ day, hour, costUsd: toCost(day) / 2 })),
  );

const forecast = (hours: readonly HourCost[], nowHour: number, toDateUsd = 100) =>
  forecastMonth({ hours, today: TODAY, nowHour, monthEnd: '2026-04-01', toDateUsd });

describe('the forecast of a month', () => {
  it('adds the usual cost of each kind of day that is left, and of the rest of today', () => {
    const hours = toHours(28, (day) => (isWeekend(day) ? 2 : 10));
    // Left are nine working days and four days of weekends. At noon, half of today's usual cost is still to come.
    expect(forecast(hours, 12)).toEqual({ costUsd: 203, lowUsd: 203, highUsd: 203 });
    expect(forecast(hours, 0)?.costUsd).toBe(208);
    expect(forecast(hours, 15.75)?.costUsd).toBeCloseTo(199.25, 9);
    expect(forecast(hours, 24)?.costUsd).toBe(198);
  });

  it('is nothing more than what was spent when the month ends with today', () => {
    const hours = toHours(28, () => 10);
    const atEnd = { hours, today: TODAY, nowHour: 24, monthEnd: addDays(TODAY, 1), toDateUsd: 7 };
    expect(forecastMonth(atEnd)).toEqual({ costUsd: 7, lowUsd: 7, highUsd: 7 });
  });

  it('needs fourteen days since the first use, and some of them may have none', () => {
    expect(
      forecast(
        toHours(13, () => 10),
        12,
      ),
    ).toBeUndefined();
    expect(forecast([], 12)).toBeUndefined();
    expect(
      forecast(
        toHours(14, () => 10),
        12,
      )?.costUsd,
    ).toBe(235);
    const [first, last] = [toHours(14, () => 28).slice(-2), toHours(1, () => 0)];
    // 28 on one of ten working days, nothing at weekends.
    expect(forecast([...first, ...last], 24)?.costUsd).toBeCloseTo(100 + 9 * 2.8, 9);
  });

  it('has a wider range the more days differ, which never begins below what was spent', () => {
    const [steady, uneven] = [10, 3].map((low) =>
      forecast(
        toHours(28, (day) => (Number(day.slice(8)) % 2 ? 10 : low)),
        12,
      ),
    );
    const toWidth = (of: typeof steady): number => (of?.highUsd ?? 0) - (of?.lowUsd ?? 0);
    expect(toWidth(steady)).toBe(0);
    expect(toWidth(uneven)).toBeGreaterThan(10);
    const rare = forecast(
      toHours(28, (day) => (day === '2026-03-03' ? 1000 : 0)),
      12,
    );
    expect(rare?.lowUsd).toBe(100);
    expect(rare?.highUsd).toBeGreaterThan(rare?.costUsd ?? 0);
  });
});
