const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/**
 * Ctrl-C reaches recount from the terminal, and again from a package manager that passes it on: only a signal that comes
 * later than this means that the user is in a hurry.
 */
const SECOND_SIGNAL_MS = 700;
export const INTERRUPTED_EXIT_CODE = 130;

/** A signal that aborts at the first SIGINT, SIGTERM or SIGHUP; a second SIGINT ends the process at once. */
export function createInterruption(process: NodeJS.Process): AbortSignal {
  const controller = new AbortController();
  let firstAtMs: number | undefined;
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
