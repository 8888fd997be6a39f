import fc from 'fast-check';
import { expect, it } from 'vitest';
import { selectRank } from './read-durations.ts';

it('selects the percentile that sorting would, whatever the order', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20), { minLength: 1, maxLength: 60 }), fc.nat(59), (values, position) => {
      const rank = (position % values.length) + 1;
      const sorted = Float64Array.from(values).sort();
      expect(selectRank(Float64Array.from(values), rank)).toBe(sorted[rank - 1]);
    }),
  );
});
