import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toComparison } from './copy-rules.ts';

interface Copy {
  time: number | null;
  size: number;
}

const compare = toComparison<'time' | 'size', Copy>([{ fact: 'time' }, { fact: 'size', isDescending: true }], {
  time: ({ time }) => time,
  size: ({ size }) => size,
});

describe('toComparison', () => {
  it('sorts by the first fact that differs, and puts null last', () => {
    const copies: Copy[] = [
      { time: null, size: 9 },
      { time: 2, size: 1 },
      { time: 1, size: 1 },
      { time: 1, size: 2 },
    ];
    expect(copies.toSorted(compare)).toEqual([
      { time: 1, size: 2 },
      { time: 1, size: 1 },
      { time: 2, size: 1 },
      { time: null, size: 9 },
    ]);
  });

  it('is a total order, antisymmetric, and zero only for equal facts', () => {
    const copy = fc.record({ time: fc.option(fc.integer({ max: 3, min: 0 })), size: fc.integer({ max: 3, min: 0 }) });
    fc.assert(
      fc.property(copy, copy, (one, other) => {
        expect(Math.sign(compare(one, other)) + Math.sign(compare(other, one))).toBe(0);
        expect(compare(one, other) === 0).toBe(one.time === other.time && one.size === other.size);
      }),
    );
  });
});
