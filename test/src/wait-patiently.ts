import { vi } from 'vitest';

/** Far longer than anything takes: who waits so long fails for what is awaited, and not for a busy machine. */
const MAX_WAIT_MS = 120_000;
const INTERVAL_MS = 50;

type WaitFor = typeof vi.waitFor;

// vitest itself gives up after a second.
const { waitFor } = vi;
vi.waitFor = ((callback, options) =>
  waitFor(callback, {
    timeout: MAX_WAIT_MS,
    interval: INTERVAL_MS,
    ...(typeof options === 'number' ? { timeout: options } : options),
  })) as WaitFor;
