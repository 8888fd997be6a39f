import { toMonthStart } from '@recount/contract/periods';
import { expect, it } from 'vitest';
import { readPeriod, readPeriodBefore } from './period.ts';

it('reads dates from a URL, with an inclusive end', () => {
  expect(readPeriod({ from: '2026-02-01', to: '2026-02-28' }, '30d')).toEqual({ from: '2026-02-01', to: '2026-03-01' });
});

it.each(['2026-02-31', '2026-13-01', '2026-1-1', 'yesterday', ''])('ignores %j, which is not a date', (text) => {
  expect(readPeriod({ from: text, to: text }, '30d')).toEqual({});
});

/** A Wednesday. */
const TODAY = '2026-03-18';

it.each([
  ['today', '2026-03-18', '2026-03-19', '2026-03-17', '2026-03-18'],
  ['this-week', '2026-03-16', '2026-03-19', '2026-03-09', '2026-03-12'],
  ['last-week', '2026-03-09', '2026-03-16', '2026-03-02', '2026-03-09'],
  ['this-month', '2026-03-01', '2026-03-19', '2026-02-01', '2026-02-19'],
  ['last-month', '2026-02-01', '2026-03-01', '2026-01-01', '2026-02-01'],
  ['30d', '2026-02-17', '2026-03-19', '2026-01-18', '2026-02-17'],
])('begins and ends %s, and compares it with the one before', (period, from, to, fromBefore, toBefore) => {
  expect(readPeriod({ period }, 'all', TODAY)).toEqual({ from, to });
  expect(readPeriodBefore({ period }, 'all', TODAY)?.period).toEqual({ from: fromBefore, to: toBefore });
});

it('compares the end of a month with no more than the whole shorter month before', () => {
  expect(readPeriodBefore({ period: 'this-month' }, 'all', '2026-03-31')?.period).toEqual({
    from: '2026-02-01',
    to: '2026-03-01',
  });
  expect(toMonthStart('2026-01-31', -1)).toBe('2025-12-01');
});

it('compares dates with the same number of days before', () => {
  const before = readPeriodBefore({ from: '2026-03-01', to: '2026-03-07' }, 'all');
  expect(before).toEqual({ period: { from: '2026-02-22', to: '2026-03-01' }, label: 'previous 7 days' });
  expect(readPeriodBefore({ from: '2026-03-01' }, 'all')).toBeUndefined();
  expect(readPeriodBefore({ period: 'all' }, '30d')).toBeUndefined();
});
