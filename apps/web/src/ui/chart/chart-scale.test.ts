import { addDays } from '@recount/contract/periods';
import { expect, it } from 'vitest';
import { toTimeLabel, toTimeTicks, toValueTicks } from './chart-scale.ts';

it.each([
  [0, [0, 1]],
  [1, [0, 0.2, 0.4, 0.6, 0.8, 1]],
  [0.31, [0, 0.1, 0.2, 0.3, 0.4]],
  [35.28, [0, 10, 20, 30, 40]],
  [237, [0, 50, 100, 150, 200, 250]],
  [400, [0, 100, 200, 300, 400]],
  [1_234_567, [0, 250_000, 500_000, 750_000, 1_000_000, 1_250_000]],
])('divides an axis up to %d by round values', (max, ticks) => {
  expect(toValueTicks(max)).toEqual(ticks);
});

it('leaves less than a step of the axis empty', () => {
  for (let max = 0.0003; max < 1e9; max *= 1.37) {
    const ticks = toValueTicks(max);
    const [end = 0, last = 0] = [ticks.at(-1), ticks.at(-2)];
    expect(end).toBeGreaterThanOrEqual(max * (1 - 1e-9));
    expect(last).toBeLessThan(max);
    expect(ticks.length).toBeLessThanOrEqual(7);
  }
});

const listDays = (from: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => addDays(from, index));

it('labels Mondays, months of a quarter and hours of a day if not all bars have room', () => {
  const days = listDays('2026-11-01', 30);
  expect(toTimeTicks(days, 'day', 8).map((index) => days[index])).toEqual([
    ...['2026-11-02', '2026-11-09', '2026-11-16', '2026-11-23', '2026-11-30'],
  ]);
  expect(toTimeTicks(days.slice(0, 5), 'day', 8)).toEqual([0, 1, 2, 3, 4]);
  const months = ['2025-11', '2025-12', '2026-01', '2026-02', '2026-03', '2026-04'];
  expect(toTimeTicks(months, 'month', 2).map((index) => months[index])).toEqual(['2026-01', '2026-04']);
  const hours = Array.from({ length: 24 }, (_, hour) => `2026-11-01T${String(hour).padStart(2, '0')}:00:00+01:00`);
  expect(toTimeTicks(hours, 'hour', 5)).toEqual([0, 6, 12, 18]);
});

it('never labels more bars than have room', () => {
  for (const length of [1, 10, 31, 90, 365, 1200, 4000]) {
    expect(toTimeTicks(listDays('2020-02-29', length), 'day', 6).length).toBeLessThanOrEqual(7);
  }
});

it('names a bar by its whole time', () => {
  expect(toTimeLabel('2026-11-03', 'day')).toContain('2026');
  expect(toTimeLabel('2026-11-03T14:00:00+01:00', 'hour')).toContain('14:00');
});
