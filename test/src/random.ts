/** A stream of numbers determined by the seed. The measured transcripts of bench/ come from a separate generator. */
export interface Random {
  /** From 0 up to, but not including, 1. */
  next(): number;
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  chance(probability: number): boolean;
  /** Throws RangeError if there is nothing to pick from. */
  pick<T>(items: readonly T[]): T;
  shuffle<T>(items: readonly T[]): T[];
  /** An independent stream, unaffected by how many of this one's numbers are used from now on. */
  fork(): Random;
}

/** Mulberry32: 32 bits of state are plenty for test data and for choosing victims. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    integer,
    chance: (probability) => next() < probability,
    pick(items) {
      const index = integer(0, items.length - 1);
      if (!(index in items)) throw new RangeError('nothing to pick from');
      return items[index] as (typeof items)[number];
    },
    shuffle: (items) =>
      items
        .map((item) => ({ item, order: next() }))
        .sort((a, b) => a.order - b.order)
        .map(({ item }) => item),
    fork: () => createRandom(integer(0, 2 ** 32 - 1)),
  };
}
