const MAX_COUNTS = 16;
const MAX_STEPS = 20_000;

/**
 * Places counts so that those in each place add up to its total. Returns the place of each count, by position; undefined
 * if there is no way or more than one, or if there are too many counts to try all.
 */
export function placeExactly(counts: readonly number[], totals: readonly number[]): number[] | undefined {
  if (counts.length === 0 || counts.length > MAX_COUNTS) return undefined;
  const open = [...totals];
  const ways: number[][] = [];
  let steps = 0;
  const choose = (chosen: readonly number[]): void => {
    if (ways.length > 1 || ++steps > MAX_STEPS) return;
    const count = counts[chosen.length];
    if (count === undefined) {
      if (open.every((left) => left === 0)) ways.push([...chosen]);
      return;
    }
    for (const [place, left] of open.entries()) {
      if (left < count) continue;
      open[place] = left - count;
      choose([...chosen, place]);
      open[place] = left;
    }
  };
  choose([]);
  return ways.length === 1 && steps <= MAX_STEPS ? ways[0] : undefined;
}
