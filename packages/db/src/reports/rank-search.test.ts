import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createRankSearch } from './rank-search.ts';

/** Small ones, so that many are equal, and all sizes up to the largest. */
const value = fc.oneof(fc.nat(20), fc.nat(5000), fc.integer({ min: 0, max: 2 ** 48 - 1 }), fc.constant(2 ** 48 - 1));

it('finds what sorting would put there, whatever the values, their order and the number of parts', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(value, { maxLength: 40 }), { maxLength: 5 }),
      fc.array(fc.double({ min: 0.001, max: 1, noNaN: true }), { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 2, max: 300 }),
      (lists, shares, partCount) => {
        const sorted = Float64Array.from(lists.flat()).sort();
        const toRanks = (count: number) => (count === 0 ? [] : shares.map((share) => Math.ceil(share * count)));
        const search = createRankSearch(toRanks, partCount);
        let found: number[] | undefined;
        let passes = 0;
        for (; found === undefined; passes += 1) {
          for (const list of lists) search.add(Float64Array.from(list));
          found = search.endPass();
        }
        expect(found).toEqual(toRanks(sorted.length).map((rank) => sorted[rank - 1]));
        expect(passes).toBeLessThanOrEqual(2 + Math.ceil(48 / Math.log2(partCount)));
      },
    ),
  );
});

it('needs one pass if the values are less than the parts', () => {
  const search = createRankSearch((count) => [1, count], 100);
  search.add(Float64Array.of(99, 0, 50));
  expect(search.endPass()).toEqual([0, 99]);
});

it('refuses values that are fewer in a later pass', () => {
  const search = createRankSearch((count) => [count], 10);
  search.add(Float64Array.of(5, 500));
  expect(search.endPass()).toBeUndefined();
  expect(() => search.endPass()).toThrow(RangeError);
});
