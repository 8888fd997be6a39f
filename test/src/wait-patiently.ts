import { vi } from 'vitest';

/** Far longer than anything takes, so that a timeout means a failure and not a busy machine. */
const MAX_WAIT_MS = 120_000;
const INTERVAL_MS = 50;

type WaitFor = typeof vi.waitFor;

// vitest's own default is one second.
const { waitFor } = vi;
vi.waitFor = ((callback, options) =>
  waitFor(callback, {
    timeout: MAX_WAIT_MS,
    interval: INTERVAL_MS,
    ...(typeof options === 'number' ? { timeout: options } : options),
  })) as WaitFor;
