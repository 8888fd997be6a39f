/**
 * A file that was modified less than this before it was listed may change again without another size or time. File
 * systems count time in steps of up to two seconds.
 */
const SETTLED_MS = 2000;

/** True if a file cannot change any more without another size or time of modification. */
export const isSettled = (modifiedAtMs: number, listedAtMs: number): boolean => modifiedAtMs <= listedAtMs - SETTLED_MS;
