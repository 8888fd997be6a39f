import { expect, it } from 'vitest';
import { splitBySize } from './plan-transcripts.ts';

const split = (sizes: readonly number[], limits: { maxCount: number; maxBytes: number }): number[][] =>
  splitBySize(
    sizes.map((size_bytes) => ({ size_bytes })),
    limits,
  ).map((part) => part.map(({ size_bytes }) => size_bytes));

it('splits a list by count and by size, in order', () => {
  expect(split([], { maxCount: 2, maxBytes: 10 })).toEqual([]);
  expect(split([1, 2, 3, 4, 5], { maxCount: 2, maxBytes: 10 })).toEqual([[1, 2], [3, 4], [5]]);
  expect(split([4, 6, 1, 9, 1], { maxCount: 9, maxBytes: 10 })).toEqual([[4, 6], [1, 9], [1]]);
});

it('puts an entry that is too long into a separate part', () => {
  expect(split([3, 30, 3], { maxCount: 9, maxBytes: 10 })).toEqual([[3], [30], [3]]);
});
