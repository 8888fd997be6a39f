import { expect, it } from 'vitest';
import { type ArrivalPair, thinOutArrivals } from './live-writer.ts';

it('batches what arrived within a second', () => {
  const arrivals: ArrivalPair[] = [
    [10, 5000],
    [20, 5400],
    [30, 5999],
    [40, 6000],
    [50, 9000],
  ];
  expect(thinOutArrivals(arrivals)).toEqual([
    [30, 5000],
    [40, 6000],
    [50, 9000],
  ]);
  expect(arrivals[0]).toEqual([10, 5000]);
  expect(thinOutArrivals([])).toEqual([]);
});

it('keeps at most 5,000, and the end', () => {
  const arrivals = Array.from({ length: 30_000 }, (_, index): ArrivalPair => [index + 1, index * 1000]);
  const thinned = thinOutArrivals(arrivals);
  expect(thinned.length).toBeLessThanOrEqual(5000);
  expect(thinned.length).toBeGreaterThan(2000);
  expect(thinned.at(-1)?.[0]).toBe(30_000);
});
