import { expect, it } from 'vitest';
import { formatChange } from './values.ts';

const words = { format: (value: number) => `$${value}`, before: 'previous 30 days' };

it.each([
  [112.5, 100, '+13% vs previous 30 days'],
  [97, 100, '−3% vs previous 30 days'],
  [100, 100, '+0% vs previous 30 days'],
  [0, 100, '−100% vs previous 30 days'],
  [1_250, 100, 'from $100'],
  [532.7, 0.05, 'from $0.05'],
  [1, 0, 'new'],
])('says what %d is to %d in the period before', (now, before, text) => {
  expect(formatChange(now, before, words)).toBe(text);
});

it.each([
  [null, 1],
  [1, null],
  [1, undefined],
  [0, 0],
])('compares nothing where %o or %o is missing, or both are zero', (now, before) => {
  expect(formatChange(now, before, words)).toBeUndefined();
});
