import { expect, it } from 'vitest';
import { formatChange, formatMoney, formatMoneyTick } from './values.ts';

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

it.each([
  [0.2247, /^\D*0\D22$/],
  [55.74, /^\D*55\D74$/],
  [0, /^\D*0\D00$/],
  [0.0042, /^\D*0\D0042$/],
  [null, /^unpriced$/],
])('writes the amount %o with two decimals, and four only below a cent', (amount, text) => {
  expect(formatMoney(amount)).toMatch(text);
});

it('writes the values of an axis with the decimals that its steps need', () => {
  expect(formatMoneyTick(0.4, 0.2)).toMatch(/^\D*0\D40$/);
  expect(formatMoneyTick(400, 100)).toMatch(/^\D*400$/);
});
