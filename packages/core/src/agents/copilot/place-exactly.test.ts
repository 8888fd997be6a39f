import { expect, it } from 'vitest';
import { placeExactly } from './place-exactly.ts';

it('places counts if there is exactly one way', () => {
  expect(placeExactly([187, 50], [187, 50])).toEqual([0, 1]);
  expect(placeExactly([50, 30, 187], [80, 187, 0])).toEqual([0, 0, 1]);
});

it('places nothing if there are several ways, or none', () => {
  expect(placeExactly([50, 50], [50, 50])).toBeUndefined();
  expect(placeExactly([10, 20, 30], [30, 30])).toBeUndefined();
  expect(placeExactly([100, 60, 40], [150, 60])).toBeUndefined();
  expect(placeExactly([], [])).toBeUndefined();
});

it('gives up where trying would take long', () => {
  const counts = Array.from({ length: 16 }, (_, index) => 1000 + index);
  expect(
    placeExactly(
      counts,
      Array.from({ length: 8 }, () => 2015),
    ),
  ).toBeUndefined();
  expect(placeExactly([...counts, 1], [16_121])).toBeUndefined();
});
