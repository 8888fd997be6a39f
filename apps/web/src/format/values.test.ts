import { expect, it } from 'vitest';
import { formatChange } from './values.ts';

it.each([
  [112.5, 100, '+12.5% on'],
  [97, 100, '−3% on'],
  [100, 100, '+0% on'],
  [1_250, 100, '12 times'],
  [532.7, 0.05, 'over 1,000 times'],
])('says what %d is to %d in the period before', (now, before, text) => {
  expect(formatChange(now, before)).toBe(text);
});

it.each([
  [null, 1],
  [1, null],
  [1, undefined],
  [1, 0],
])('compares nothing where %o or %o is missing or zero', (now, before) => {
  expect(formatChange(now, before)).toBeUndefined();
});
