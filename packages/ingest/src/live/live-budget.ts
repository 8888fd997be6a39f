import pLimit from 'p-limit';

/** Memory that the streams of a process share, whatever their number. */
export interface LiveBudget {
  open(): LiveShare;
}

/** One stream's part of the budget. */
export interface LiveShare {
  /** Records that the stream now holds this many bytes. Returns false, recording nothing, if they find no room. */
  hold(bytes: number): boolean;
  /** Runs a step whose results take more memory than its bytes; waits while many others run. */
  run<T>(step: () => Promise<T>): Promise<T>;
  /** Gives back what the stream holds. What it says later, while its last step ends, counts no more. */
  release(): void;
}

/** Below the connections of a pool, so that a step that runs finds one. */
const MAX_STEPS_AT_ONCE = 8;

/**
 * A budget of bytes. A stream that is alone always finds room, because a line longer than the budget must be readable.
 */
export function createLiveBudget(maxBytes: number): LiveBudget {
  let heldBytes = 0;
  const limit = pLimit(MAX_STEPS_AT_ONCE);
  return {
    open() {
      let ownBytes = 0;
      let isReleased = false;
      return {
        hold(bytes) {
          if (isReleased) return true;
          const othersBytes = heldBytes - ownBytes;
          if (bytes > ownBytes && othersBytes > 0 && othersBytes + bytes > maxBytes) return false;
          heldBytes = othersBytes + bytes;
          ownBytes = bytes;
          return true;
        },
        run: limit,
        release() {
          heldBytes -= ownBytes;
          ownBytes = 0;
          isReleased = true;
        },
      };
    },
  };
}
