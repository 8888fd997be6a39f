import { describe, expect, it } from 'vitest';
import { addDays } from '../reports/local-days.ts';
import { findCrossings, type PeriodFigure } from './find-crossings.ts';

const RULES = {
  ...{ amount: 100, unit: 'usd' as const, thresholds: [50, 100] },
  ...{ forecast_percent: 100, anomaly_factor: 3 },
};
const SPENDING = {
  ...{ current: '2026-03-01', today: '2026-03-20', firstDay: '2026-03-13' },
  ...{ periods: [] as PeriodFigure[], days: [] as PeriodFigure[], forecast: undefined },
};

const find = (spending: Partial<Parameters<typeof findCrossings>[1]>, rules = RULES) =>
  findCrossings(rules, { ...SPENDING, ...spending }).map(
    ({ period_start, kind, threshold, is_late }) => `${period_start} ${kind} ${threshold}${is_late ? ' late' : ''}`,
  );

/** A day each before 20 March, the latest first. */
const toDays = (figures: readonly number[]): PeriodFigure[] =>
  figures.map((figure, index) => ({ start: addDays('2026-03-19', -index), figure }));

describe('a budget', () => {
  it('warns of each threshold that is reached, and of past periods as late', () => {
    const periods = [
      { start: '2026-02-01', figure: 50 },
      { start: '2026-03-01', figure: 100 },
    ];
    expect(find({ periods })).toEqual([
      '2026-02-01 threshold 50 late',
      '2026-03-01 threshold 50',
      '2026-03-01 threshold 100',
    ]);
    expect(find({ periods: [{ start: '2026-03-01', figure: 49.99 }] })).toEqual([]);
  });

  it('warns of an exact percentage of cents, which the product of binary numbers exceeds', () => {
    for (const [amount, percent, figure] of [
      [1.1, 90, 0.99],
      [8.3, 90, 7.47],
      [1e-6, 90, 9e-7],
      [1e15, 55, 5.5e14],
    ] as const) {
      const rules = { ...RULES, amount, thresholds: [percent] };
      const expected = [`2026-03-01 threshold ${percent}`];
      expect(find({ periods: [{ start: '2026-03-01', figure }] }, rules), String(amount)).toEqual(expected);
      expect(find({ periods: [{ start: '2026-03-01', figure: figure * (1 - 1e-3) }] }, rules)).toEqual([]);
    }
  });

  it('warns of a forecast while the amount is not spent', () => {
    const forecast = { costUsd: 100, lowUsd: 90, highUsd: 120 };
    expect(find({ forecast })).toEqual(['2026-03-01 forecast 100']);
    expect(find({ forecast: { ...forecast, costUsd: 99 } })).toEqual([]);
    expect(find({ forecast, periods: [{ start: '2026-03-01', figure: 100 }] })).not.toContain(
      '2026-03-01 forecast 100',
    );
    expect(find({ forecast }, { ...RULES, forecast_percent: 90 })).toEqual(['2026-03-01 forecast 90']);
  });
});

describe('an anomaly', () => {
  const usual = toDays([2, 2, 2, 2, 2, 2, 2]);
  const today = (figure: number): PeriodFigure => ({ start: '2026-03-20', figure });

  it('is a day above three times the median of the days before', () => {
    expect(find({ days: [...usual, today(6.01)] })).toEqual(['2026-03-20 anomaly 0']);
    expect(find({ days: [...usual, today(6)] })).toEqual([]);
    // 1, 1, 1, 1, 5, 5, 5, 5: the median is 3.
    expect(find({ days: [...toDays([1, 5, 1, 5, 1, 5, 1, 5]), today(9.1)] })).toEqual(['2026-03-20 anomaly 0']);
    expect(find({ days: [...toDays([1, 5, 1, 5, 1, 5, 1, 5]), today(9)] })).toEqual([]);
  });

  it('needs seven days with use, of the 28 before', () => {
    expect(find({ days: [...usual.slice(1), today(50)] })).toEqual([]);
    const old = Array.from({ length: 7 }, (_, index) => ({ start: addDays('2026-02-19', -index), figure: 2 }));
    expect(find({ days: [...old, today(50)] })).toEqual([]);
  });

  it('is not a day below a hundredth of the amount', () => {
    expect(find({ days: [...usual, today(6.01)] }, { ...RULES, amount: 602 })).toEqual([]);
  });

  it('is looked for in the last days, and late if the day is over', () => {
    const days = toDays([2, 20, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
    expect(find({ days })).toEqual(['2026-03-18 anomaly 0 late']);
    expect(find({ days, firstDay: '2026-03-19' })).toEqual([]);
  });
});
