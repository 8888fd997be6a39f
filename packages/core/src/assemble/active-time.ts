/** A longer pause between two messages counts as idle, and not as active. */
export const MAX_ACTIVE_GAP_MS = 5 * 60_000;

/**
 * Times that earlier ones may still precede; they are closed half at a time. Most messages are out of order by a few.
 */
const MAX_OPEN_TIMES = 512;

export interface ActiveTimeState {
  /** Times of the latest messages, ascending, milliseconds since 1970. */
  openTimes: number[];
  /** Everything before them, as the last time and the sum of the gaps up to it. */
  closedTimeMs: number | undefined;
  closedMs: number;
  isOutOfOrder: boolean;
}

export function createActiveTimeState(): ActiveTimeState {
  return { openTimes: [], closedTimeMs: undefined, closedMs: 0, isOutOfOrder: false };
}

export interface ActiveTime {
  add(timeMs: number): void;
  /** A later line gave a message an earlier time. */
  move(fromMs: number | undefined, toMs: number): void;
  /**
   * The active time of the session (the sum of the gaps between its messages in order of time, without gaps of more
   * than five minutes). Null if messages were so far out of order that only sorting them all would tell.
   */
  toActiveMs(): number | null;
}

export function createActiveTime(state: ActiveTimeState = createActiveTimeState()): ActiveTime {
  const { openTimes } = state;

  const close = (count: number): void => {
    const closed = openTimes.splice(0, count);
    state.closedMs += sumActiveGaps(closed, state.closedTimeMs);
    state.closedTimeMs = closed.at(-1) ?? state.closedTimeMs;
  };

  const add = (timeMs: number): void => {
    if (state.closedTimeMs !== undefined && timeMs < state.closedTimeMs) state.isOutOfOrder = true;
    if (state.isOutOfOrder) return;
    let index = openTimes.length;
    while (index > 0 && (openTimes[index - 1] ?? 0) > timeMs) index--;
    if (index === openTimes.length) openTimes.push(timeMs);
    else openTimes.splice(index, 0, timeMs);
    if (openTimes.length > MAX_OPEN_TIMES) close(MAX_OPEN_TIMES / 2);
  };

  return {
    add,
    move(fromMs, toMs) {
      if (fromMs !== undefined) {
        const index = openTimes.lastIndexOf(fromMs);
        if (index < 0) state.isOutOfOrder = true;
        else openTimes.splice(index, 1);
      }
      add(toMs);
    },
    toActiveMs: () => (state.isOutOfOrder ? null : state.closedMs + sumActiveGaps(openTimes, state.closedTimeMs)),
  };
}

/** The active time of messages in order of time, from the one before them on, if there is one. */
export function sumActiveGaps(times: readonly number[], before?: number): number {
  let last = before;
  let sumMs = 0;
  for (const timeMs of times) {
    const gapMs = timeMs - (last ?? timeMs);
    if (gapMs <= MAX_ACTIVE_GAP_MS) sumMs += gapMs;
    last = timeMs;
  }
  return sumMs;
}
