import { expect, it } from 'vitest';
import { readPeriod, toPeriodBefore } from './period.ts';

it('reads dates from a URL, with an inclusive end', () => {
  expect(readPeriod({ from: '2026-02-01', to: '2026-02-28' }, '30d')).toEqual({ from: '2026-02-01', to: '2026-03-01' });
});

it.each(['2026-02-31', '2026-13-01', '2026-1-1', 'yesterday', ''])('ignores %j, which is not a date', (text) => {
  expect(readPeriod({ from: text, to: text }, '30d')).toEqual({});
});

it('compares with the same number of days before', () => {
  expect(toPeriodBefore({ from: '2026-03-01', to: '2026-03-08' })).toEqual({ from: '2026-02-22', to: '2026-03-01' });
  expect(toPeriodBefore({ from: '2026-03-01' })).toBeUndefined();
});
