import type { WeekOutcome } from '@recount/contract';

export interface WeekShare {
  isAfter: boolean;
  wasteUsd: number;
  /** Null or 0 if nothing was spent, or no price is known; such weeks are not compared. */
  costUsd: number | null;
}

/** Weeks on each side that are compared at most; 12,870 ways to choose half of them. */
export const MAX_COMPARED_WEEKS = 8;
const LEAST_WEEKS_BEFORE = 3;
const LEAST_WEEKS_AFTER = 2;
/** The smallest chance with the fewest weeks is one tenth. */
const MAX_CHANCE = 0.1;
/** Sums of the same weeks in another order differ by less. */
const ROUNDING = 1e-12;

/**
 * Compares the share of waste in the cost of the weeks before a day with the share after it. `chance` is the part of all
 * ways to choose as many weeks as are after it that differ from the other weeks as much or more, in the same direction:
 * if the day made no difference, each would be as likely.
 */
export function compareWeeks(weeks: readonly WeekShare[]): { outcome: WeekOutcome; chance: number | null } {
  const spent = weeks.filter(({ costUsd }) => costUsd !== null && costUsd > 0);
  const afterCount = spent.filter(({ isAfter }) => isAfter).length;
  if (afterCount < LEAST_WEEKS_AFTER) return { outcome: 'too-early', chance: null };
  if (spent.length - afterCount < LEAST_WEEKS_BEFORE) return { outcome: 'too-little-data', chance: null };
  const observed = toDifference(spent, new Set(spent.flatMap(({ isAfter }, index) => (isAfter ? [index] : []))));
  let ways = 0;
  let asExtreme = 0;
  for (const chosen of choose(spent.length, afterCount)) {
    const difference = toDifference(spent, chosen);
    ways += 1;
    if (observed <= 0 ? difference <= observed + ROUNDING : difference >= observed - ROUNDING) asExtreme += 1;
  }
  const chance = asExtreme / ways;
  const isClear = chance <= MAX_CHANCE && Math.abs(observed) > ROUNDING;
  return { outcome: isClear ? (observed < 0 ? 'fell' : 'rose') : 'unclear', chance };
}

/** The share of the chosen weeks, less the share of all others. */
function toDifference(weeks: readonly WeekShare[], chosen: ReadonlySet<number>): number {
  const sums = { wasteIn: 0, costIn: 0, wasteOut: 0, costOut: 0 };
  for (const [index, { wasteUsd, costUsd }] of weeks.entries()) {
    if (chosen.has(index)) {
      sums.wasteIn += wasteUsd;
      sums.costIn += costUsd ?? 0;
    } else {
      sums.wasteOut += wasteUsd;
      sums.costOut += costUsd ?? 0;
    }
  }
  return sums.wasteIn / sums.costIn - sums.wasteOut / sums.costOut;
}

/** All ways to choose `count` of the numbers below `length`. */
function* choose(length: number, count: number, first = 0): Generator<Set<number>> {
  if (count === 0) yield new Set();
  else {
    for (let index = first; index <= length - count; index += 1) {
      for (const rest of choose(length, count - 1, index + 1)) yield rest.add(index);
    }
  }
}
