import { describe, expect, it } from 'vitest';
import { compareWeeks } from './compare-weeks.ts';

const toWeeks = (before: readonly number[], after: readonly number[], costUsd: number | null = 100) => [
  ...before.map((wasteUsd) => ({ isAfter: false, wasteUsd, costUsd })),
  ...after.map((wasteUsd) => ({ isAfter: true, wasteUsd, costUsd })),
];

describe('compareWeeks', () => {
  it('says that a share fell or rose if few choices of weeks differ as much', () => {
    expect(compareWeeks(toWeeks([9, 8, 10, 9], [2, 3]))).toEqual({ outcome: 'fell', chance: 1 / 15 });
    expect(compareWeeks(toWeeks([2, 3, 2], [9, 8]))).toEqual({ outcome: 'rose', chance: 1 / 10 });
  });

  it('says that it is unclear if many do', () => {
    // The average of the last two is 4.5, and 5.33 before; four of ten pairs of weeks have a sum of 9 or less.
    expect(compareWeeks(toWeeks([1, 9, 6], [4, 5]))).toEqual({ outcome: 'unclear', chance: 4 / 10 });
    expect(compareWeeks(toWeeks([0, 0, 0, 0], [0, 0, 0]))).toEqual({ outcome: 'unclear', chance: 1 });
    expect(compareWeeks(toWeeks([5, 5, 5], [5, 5]))).toEqual({ outcome: 'unclear', chance: 1 });
  });

  it('weighs weeks by what was spent in them', () => {
    const weeks = [
      ...toWeeks([10, 10, 10, 10], []),
      { isAfter: true, wasteUsd: 1, costUsd: 1 },
      { isAfter: true, wasteUsd: 10, costUsd: 1000 },
    ];
    // Alone, the first week after it had the largest share.
    expect(compareWeeks(weeks)).toMatchObject({ outcome: 'fell' });
  });

  it('compares no weeks without spend, and says if too few are left', () => {
    const empty = toWeeks([0], [0], null);
    expect(compareWeeks([...toWeeks([9, 8, 10], [2]), ...empty])).toEqual({ outcome: 'too-early', chance: null });
    expect(compareWeeks([...toWeeks([9, 8], [2, 2, 2]), ...empty])).toEqual({
      outcome: 'too-little-data',
      chance: null,
    });
    expect(compareWeeks([])).toEqual({ outcome: 'too-early', chance: null });
  });

  it('takes milliseconds for as many weeks as reports compare', () => {
    const before = [9, 8, 7, 9, 8, 7, 9, 8];
    const { outcome, chance } = compareWeeks(toWeeks(before, [1, 2, 1, 2, 1, 2, 1, 2]));
    expect([outcome, chance]).toEqual(['fell', 1 / 12_870]);
  });
});
