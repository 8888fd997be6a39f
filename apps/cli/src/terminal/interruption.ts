const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/**
 * The terminal sends Ctrl-C to recount directly, and a package manager passes it on again, so only a later second
 * signal means that the user insists.
 */
const SECOND_SIGNAL_MS = 700;
const STARTER_POLL_MS = 500;
export const INTERRUPTED_EXIT_CODE = 130;

interface InterruptionOptions {
  /** Ctrl-C is for a program that this one has started, and is not listened to. Defaults to no. */
  leavesCtrlC?: boolean;
}

/**
 * A signal that aborts at the first SIGINT, SIGTERM or SIGHUP, and when the parent process is gone, which is detected
 * by its channel, or by its id in RECOUNT_STARTED_BY, because npm forwards no signals. A second SIGINT ends the process
 * immediately.
 */
export function createInterruption(
  process: NodeJS.Process,
  { leavesCtrlC = false }: InterruptionOptions = {},
): AbortSignal {
  const controller = new AbortController();
  let firstAtMs: number | undefined;
  process.on('disconnect', () => controller.abort(new InterruptedError()));
  // Listening to the channel must not keep the process alive.
  process.channel?.unref();
  const starterPid = Number(process.env.RECOUNT_STARTED_BY);
  if (starterPid > 1) {
    const timer = setInterval(() => {
      if (!isAlive(process, starterPid)) controller.abort(new InterruptedError());
    }, STARTER_POLL_MS);
    timer.unref();
  }
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (leavesCtrlC && name === 'SIGINT') return;
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

function isAlive(process: NodeJS.Process, pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export class InterruptedError extends Error {
  override name = 'InterruptedError';

  constructor() {
    super('interrupted');
  }
}
