import { expect, it } from 'vitest';
import { findRegrouped } from './bill-rows.ts';

const day = '2026-11-01';
const whole = { day, lineItem: null, model: null };
const line = (lineItem: string, model: string | null = null) => ({ day, lineItem, model });

it.each([
  ['a day as a whole and its lines', [whole], [line('a'), line('b')]],
  ['an item as a whole and by model', [line('requests')], [line('requests', 'm'), line('seats')]],
])('finds %s', (_name, some, others) => {
  expect(findRegrouped(some, others)).toBe(day);
  expect(findRegrouped(others, some)).toBe(day);
});

it.each([
  ['nothing is stored', [whole], []],
  ['the lines are others', [line('a')], [line('b', 'm')]],
  ['both have a line without a name', [whole, line('a')], [whole, line('b')]],
  ['the days are others', [whole], [{ ...line('a'), day: '2026-11-02' }]],
])('finds none if %s', (_name, some, others) => {
  expect(findRegrouped(some, others)).toBeUndefined();
});
