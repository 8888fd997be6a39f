import { setTimeout as sleep } from 'node:timers/promises';
import type { SpoolFolder } from '@recount/collect';
import { isProcessLockHeld, isVisible, readLockHolder } from '@recount/local-postgres/process-lock';
import { CliError } from '../cli-error.ts';

const POLL_INTERVAL_MS = 50;
/** For what is under way: a request to the server is given up at once, a file is written to its end. */
const END_TIMEOUT_MS = 15_000;

/** Ends what watches and what sends, so that nothing leaves the machine any more. Throws CliError if one of them does not end. */
export async function endCollectors({ watchLock, lock }: SpoolFolder, timeoutMs = END_TIMEOUT_MS): Promise<void> {
  // What watches starts senders.
  for (const path of [watchLock, lock]) await endHolder(path, performance.now() + timeoutMs);
}

async function endHolder(path: string, deadlineMs: number): Promise<void> {
  let seen: number | undefined;
  let ended: number | undefined;
  while (isProcessLockHeld(path)) {
    const holder = readLockHolder(path);
    const pid = holder !== undefined && isVisible(holder) ? holder.pid : undefined;
    if (performance.now() > deadlineMs) {
      throw new CliError(`Process ${pid ?? '(unknown)'} sends sessions and does not end: end it, and run this again.`);
    }
    // One that has just taken the lock has not noted itself yet: what is seen twice is its own note.
    if (pid !== undefined && pid === seen && pid !== ended) {
      ended = pid;
      tryToEnd(pid);
    }
    seen = pid;
    await sleep(POLL_INTERVAL_MS);
  }
}

function tryToEnd(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
