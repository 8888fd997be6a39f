/** Finds values by their ranks among more values than fit in memory, which are read several times instead. */
export interface RankSearch {
  /** Counts values of the current pass, in any order. They are whole numbers from 0 to 2^48 - 1. */
  add(values: Float64Array): void;
  /**
   * Ends a pass over all values. Returns the wanted ones in the order of their ranks, or undefined if another pass over
   * the same values is needed. Throws RangeError if a rank is beyond the number of values.
   */
  endPass(): number[] | undefined;
}

/** Successive values from `low` on, counted in parts of `step` values each. */
interface Range {
  low: number;
  step: number;
  counts: Uint32Array;
}

/** A known value, or its rank, from 1, among the values from the range's lowest on. */
type Wanted = { value: number } | { rank: number; range: Range };

/**
 * Starts a search for the values at `toRanks(count)`, from 1, if all `count` values were sorted. The first pass counts
 * each value below `partCount` by itself. Each further pass divides the range that has a wanted value into as many
 * parts, until a part is a single value. Memory: 4 bytes for each part, and from the second pass on for each rank.
 */
export function createRankSearch(toRanks: (count: number) => readonly number[], partCount: number): RankSearch {
  const first = createRange(0, 1, partCount);
  let count = 0;
  let highest = 0;
  let wanted: Wanted[] | undefined;
  return {
    add(values) {
      if (wanted === undefined) {
        countValues(first, values);
        count += values.length;
        for (const value of values) if (value > highest) highest = value;
        return;
      }
      for (const each of wanted) if ('range' in each) countValues(each.range, values);
    },
    endPass() {
      wanted ??= toRanks(count).map((rank) => ({ rank, range: first }));
      wanted = wanted.map((each) => ('range' in each ? narrow(each, highest) : each));
      const values = wanted.flatMap((each) => ('value' in each ? each.value : []));
      return values.length === wanted.length ? values : undefined;
    },
  };
}

const createRange = (low: number, step: number, partCount: number): Range => ({
  low,
  step,
  counts: new Uint32Array(partCount),
});

function countValues({ low, step, counts }: Range, values: Float64Array): void {
  for (const value of values) {
    const position = (value - low) / step;
    if (position < 0 || position >= counts.length) continue;
    const part = Math.trunc(position);
    counts[part] = (counts[part] as number) + 1;
  }
}

/** The result of a pass (the value if each part was a single one, or else the range of the next pass). */
function narrow({ rank, range: { low, step, counts } }: { rank: number; range: Range }, highest: number): Wanted {
  const toRange = (from: number, size: number): Range =>
    createRange(from, Math.ceil(size / counts.length), counts.length);
  let before = 0;
  for (const [part, count] of counts.entries()) {
    const from = low + part * step;
    if (before + count >= rank)
      return step === 1 ? { value: from } : { rank: rank - before, range: toRange(from, step) };
    before += count;
  }
  const beyond = low + counts.length * step;
  if (beyond > highest) throw new RangeError('There are fewer values than the rank');
  return { rank: rank - before, range: toRange(beyond, highest + 1 - beyond) };
}
