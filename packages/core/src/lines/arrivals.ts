/** Up to `endOffset` bytes of a stream had been received at `timeMs`. */
export interface Arrival {
  endOffset: number;
  /** Milliseconds since 1970. */
  timeMs: number;
}

/** Returns when the byte before an offset arrived; undefined if nothing is known. Offsets must not fall from call to call. */
export function createArrivalClock(arrivals: readonly Arrival[] = []): (endOffset: number) => number | undefined {
  let index = 0;
  return (endOffset) => {
    while (index < arrivals.length - 1 && (arrivals[index]?.endOffset ?? 0) < endOffset) index++;
    return arrivals[index]?.timeMs;
  };
}
