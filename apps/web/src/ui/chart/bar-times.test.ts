import { expect, it } from 'vitest';
import { fillTimes, toLastDay } from './bar-times.ts';

it('fills in times without activity', () => {
  expect(fillTimes(['2026-03-01', '2026-02-27', '2026-02-27'], 'day')).toEqual([
    '2026-02-27',
    '2026-02-28',
    '2026-03-01',
  ]);
  expect(fillTimes(['2026-03-16', '2026-03-02'], 'week')).toEqual(['2026-03-02', '2026-03-09', '2026-03-16']);
  expect(fillTimes(['2025-11', '2026-01'], 'month')).toEqual(['2025-11', '2025-12', '2026-01']);
  expect(fillTimes([], 'day')).toEqual([]);
});

it('fills in the whole period, up to today', () => {
  const march = { from: '2026-03-01', to: '2026-04-01' };
  expect(fillTimes(['2026-03-02'], 'day', march, '2026-03-03')).toEqual(['2026-03-01', '2026-03-02', '2026-03-03']);
  expect(fillTimes([], 'week', march, '2026-05-05').at(-1)).toBe('2026-03-30');
  expect(fillTimes([], 'month', march, '2026-05-05')).toEqual(['2026-03']);
  expect(fillTimes([], 'day', march, '2026-02-01')).toEqual([]);
});

it.each([
  ['America/Los_Angeles', ['2025-11-02T01:00:00-07:00', '2025-11-02T01:00:00-08:00', '2025-11-02T02:00:00-08:00']],
  ['Pacific/Auckland', ['2026-04-05T02:00:00+13:00', '2026-04-05T02:00:00+12:00', '2026-04-05T03:00:00+12:00']],
])('puts the hour that clocks repeat in order in %s', (_zone, hours) => {
  expect(fillTimes(hours.toReversed(), 'hour')).toEqual(hours);
});

it.each([
  ['2026-02', 'month', '2026-02-28'],
  ['2026-02-23', 'week', '2026-03-01'],
  ['2026-04-05T02:00:00+13:00', 'hour', '2026-04-05'],
] as const)('knows the last day of %s', (time, step, day) => {
  expect(toLastDay(time, step)).toBe(day);
});
