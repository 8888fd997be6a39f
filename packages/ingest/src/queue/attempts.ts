/** Attempts before a transcript is given up, about 2, 4, 8, 16 seconds apart, with jitter. */
export const MAX_ATTEMPTS = 5;

/**
 * The number of times that a job may be put off because the store or database was unavailable (which its transcript may
 * have caused) before that counts as an attempt. It lasts about an hour, because the pauses grow to five minutes.
 */
export const MAX_OUTAGES = 20;

const FIRST_PAUSE_SECONDS = 2;
const MAX_PAUSE_SECONDS = 300;

/**
 * The time before a job is tried again after it ended without success this many times in a row. `random` is from 0 to
 * 1, so that jobs which failed together do not return together.
 */
export function toPauseSeconds(endings: number, random = Math.random(), maxSeconds = MAX_PAUSE_SECONDS): number {
  const seconds = Math.min(FIRST_PAUSE_SECONDS * 2 ** (Math.max(1, endings) - 1), maxSeconds);
  return seconds * (0.75 + random / 4);
}
