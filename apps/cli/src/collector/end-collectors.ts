import { setTimeout as sleep } from 'node:timers/promises';
import type { SpoolFolder } from '@recount/collect';
import { isProcessLockHeld, isVisible, readLockHolder } from '@recount/local-postgres/process-lock';
import { CliError } from '../terminal/cli-error.ts';

const POLL_INTERVAL_MS = 50;
/** For work in progress. A request to the server is aborted immediately, a file is written completely. */
const END_TIMEOUT_MS = 15_000;

/** Ends watchers and senders, so that nothing more leaves the machine. Throws CliError if one of them does not end. */
export async function endCollectors({ watchLock, lock }: SpoolFolder, timeoutMs = END_TIMEOUT_MS): Promise<void> {
  // The watcher first, because it starts senders.
  for (const path of [watchLock, lock]) await endHolder(path, performance.now() + timeoutMs);
}

async function endHolder(path: string, deadlineMs: number): Promise<void> {
  let seen: number | undefined;
  let ended: number | undefined;
  while (isProcessLockHeld(path)) {
    const holder = readLockHolder(path);
    const pid = holder !== undefined && isVisible(holder) ? holder.pid : undefined;
    if (performance.now() > deadlineMs) {
      throw new CliError(`Process ${pid ?? '(unknown)'} sends sessions and does not stop. End it, and run this again.`);
    }
    // A process that has just taken the lock has not written its note yet. A note seen twice is its own.
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
