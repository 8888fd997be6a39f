import { setTimeout as sleep } from 'node:timers/promises';
import { createBackoff, type Pauses } from '@recount/service/retry';
import { CliError } from '../terminal/cli-error.ts';

/** A running program. */
export interface RunningProgram {
  /** Resolves to what ended it, such as `SIGKILL` or `code 1`. */
  exited: Promise<string>;
  /** Ends it. It is no error if it has ended. */
  stop(): Promise<void>;
}

export interface SupervisedProgram {
  /** For people, such as `the worker`. */
  name: string;
  /**
   * Starts it and resolves once it is ready. Rejects, leaving nothing behind, if it cannot start, or the signal aborts.
   */
  start(signal: AbortSignal): Promise<RunningProgram>;
  /** Receives a line for people each time it ended or did not start. */
  onWarning(line: string): void;
  /** Called once if it repeatedly did not start. No further attempt is made. */
  onGiveUp(error: CliError): void;
}

interface RestartPauses extends Pauses {
  /** A program that ran this long did not fail to start. */
  healthyMs: number;
}

export const MAX_FAILED_STARTS = 8;
/** Failed starts that do not count, because once the disk has free space again, recount must continue on its own. */
const NEEDS_ROOM = /No space left on device|ENOSPC/;
/** Eight failed starts take about a minute. */
export const PAUSES: RestartPauses = { firstMs: 500, longestMs: 30_000, healthyMs: 60_000 };

/**
 * Keeps a program running. It starts the program, or takes over a running one, and restarts it when it ends, after a
 * pause that doubles each time. A program that becomes ready and then dies is restarted forever, because its work may
 * kill it, and so is one that lacks disk space; one that fails to become ready eight times in a row for other reasons
 * is abandoned.
 */
export function supervise(
  program: SupervisedProgram,
  running?: RunningProgram,
  pauses = PAUSES,
): { close(): Promise<void> } {
  const closing = new AbortController();
  const living = keepAlive(program, running, pauses, closing.signal);
  // Failures are reported by the closing call.
  living.catch(() => undefined);
  return {
    async close() {
      closing.abort();
      await living;
    },
  };
}

async function keepAlive(
  program: SupervisedProgram,
  running: RunningProgram | undefined,
  pauses: RestartPauses,
  signal: AbortSignal,
): Promise<void> {
  const closed = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  let current = running;
  const backoff = createBackoff(pauses);
  for (let failedStarts = 0; !signal.aborted; ) {
    const startedAtMs = performance.now();
    let event: string;
    try {
      current ??= await program.start(signal);
      failedStarts = 0;
      event = `ended (${await Promise.race([current.exited, closed])})`;
    } catch (error) {
      const { message } = error as Error;
      if (!NEEDS_ROOM.test(message)) failedStarts += 1;
      event = `did not start (${message})`;
    }
    if (signal.aborted) break;
    current = undefined;
    if (failedStarts === MAX_FAILED_STARTS) {
      return program.onGiveUp(
        new CliError(
          `${program.name} ${event}, ${failedStarts} times in a row. recount stops. Fix the cause and start it again.`,
        ),
      );
    }
    if (performance.now() - startedAtMs > pauses.healthyMs) backoff.reset();
    program.onWarning(`${program.name} ${event}; another one is started`);
    await sleep(backoff.next(), undefined, { signal }).catch(() => undefined);
  }
  await current?.stop();
}
