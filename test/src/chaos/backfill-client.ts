import { setTimeout as sleep } from 'node:timers/promises';
import { runRecount } from './run-recount.ts';

export interface BackfillClient {
  /** Sends SIGKILL; it is then run again. False if it is not running at the moment. */
  kill(): boolean;
  runs(): number;
  /** Resolves when the current run has ended; no other follows. */
  finish(): Promise<void>;
}

const PAUSE_MS = 1000;

/**
 * Runs `recount backfill` repeatedly, in turn without and with a server. What one run did not deliver, the next one does.
 */
export function startBackfillClient(path: string, environment: Record<string, string>): BackfillClient {
  let runs = 0;
  let pid: number | undefined;
  let isFinishing = false;

  const runAlways = async (): Promise<void> => {
    while (!isFinishing) {
      runs += 1;
      const way = runs % 2 === 1 ? ['--direct'] : [];
      await runRecount(['backfill', '--no-wait', ...way, path], environment, (started) => {
        pid = started;
      });
      pid = undefined;
      await sleep(PAUSE_MS);
    }
  };
  const done = runAlways();
  return {
    runs: () => runs,
    kill() {
      if (pid === undefined) return false;
      process.kill(pid, 'SIGKILL');
      return true;
    },
    finish() {
      isFinishing = true;
      return done;
    },
  };
}
