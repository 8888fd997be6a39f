const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/**
 * Ctrl-C reaches recount from the terminal, and again from a package manager that passes it on: only a signal that comes
 * later than this means that the user is in a hurry.
 */
const SECOND_SIGNAL_MS = 700;
export const INTERRUPTED_EXIT_CODE = 130;

/**
 * A signal that aborts at the first SIGINT, SIGTERM or SIGHUP, and when the process that started this one with a channel is gone.
 * A second SIGINT ends the process at once.
 */
export function createInterruption(process: NodeJS.Process): AbortSignal {
  const controller = new AbortController();
  let firstAtMs: number | undefined;
  process.on('disconnect', () => controller.abort(new InterruptedError()));
  // Listening to the channel must not keep the process alive.
  process.channel?.unref();
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (firstAtMs === undefined) {
        firstAtMs = performance.now();
        controller.abort(new InterruptedError());
      } else if (name === 'SIGINT' && performance.now() - firstAtMs > SECOND_SIGNAL_MS) {
        process.exit(INTERRUPTED_EXIT_CODE);
      }
    });
  }
  return controller.signal;
}

export class InterruptedError extends Error {
  override name = 'InterruptedError';

  constructor() {
    super('interrupted');
  }
}
