/** A pair of an offset, and when the bytes before it had come, in milliseconds since 1970. */
export type ArrivalPair = [endOffset: number, timeMs: number];

const MIN_SPACING_MS = 1000;
const MAX_ARRIVALS = 5000;

/**
 * Fewer pairs that tell about the same: what came within a second came at once, within more where there are more than
 * 5,000 of those. The time of a pair is that of its first bytes.
 */
export function thinOutArrivals(arrivals: readonly ArrivalPair[]): ArrivalPair[] {
  let spacingMs = MIN_SPACING_MS;
  for (;;) {
    const thinned: ArrivalPair[] = [];
    for (const [endOffset, timeMs] of arrivals) {
      const last = thinned.at(-1);
      if (last !== undefined && timeMs - last[1] < spacingMs) last[0] = endOffset;
      else thinned.push([endOffset, timeMs]);
    }
    if (thinned.length <= MAX_ARRIVALS) return thinned;
    spacingMs *= 2;
  }
}
