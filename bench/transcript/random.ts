/** A reproducible source of random numbers. The same seed gives the same sequence on every machine. */
export interface Random {
  /** 0 to 2^32 - 1. */
  uint32(): number;
  /** Both ends inclusive. */
  integer(minimum: number, maximum: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly [T, ...T[]]): T;
  /** Picks in proportion to `weight`. */
  pickWeighted<T extends { readonly weight: number }>(items: readonly [T, ...T[]]): T;
  /**
   * A length whose logarithm is about normally distributed. Most are near `median`, a few are many times that.
   * @param spread standard deviation of the logarithm
   */
  length(median: number, spread: number, maximum: number): number;
}

/** Small fast counter generator (sfc32), its state derived from the seed by a multiply-and-shift hash. */
export function createRandom(seed: number): Random {
  let mixed = seed >>> 0;
  const mix = () => {
    mixed = (mixed + 0x9e3779b9) >>> 0;
    let value = mixed;
    value = Math.imul(value ^ (value >>> 16), 0x21f0aaad);
    value = Math.imul(value ^ (value >>> 15), 0x735a2d97);
    return (value ^ (value >>> 15)) | 0;
  };
  let a = mix();
  let b = mix();
  let c = mix();
  let counter = 1;

  const uint32 = () => {
    const result = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + result;
    return result >>> 0;
  };
  // The first outputs still resemble the seed.
  for (let round = 0; round < 12; round += 1) uint32();

  const fraction = () => uint32() / 2 ** 32;
  return {
    uint32,
    integer: (minimum, maximum) => minimum + Math.floor(fraction() * (maximum - minimum + 1)),
    chance: (probability) => fraction() < probability,
    pick: (items) => items[Math.floor(fraction() * items.length)] ?? items[0],
    pickWeighted: (items) => {
      let left = fraction() * items.reduce((total, item) => total + item.weight, 0);
      for (const item of items) {
        left -= item.weight;
        if (left < 0) return item;
      }
      return items[0];
    },
    length: (median, spread, maximum) => {
      // Four uniform numbers sum to nearly a normal one; their standard deviation is the root of 4/12.
      const normal = (fraction() + fraction() + fraction() + fraction() - 2) / Math.sqrt(4 / 12);
      return Math.min(maximum, Math.max(1, Math.round(median * Math.exp(spread * normal))));
    },
  };
}
