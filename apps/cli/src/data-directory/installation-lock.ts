import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  describeHolder,
  isProcessLockHeld,
  isVisible,
  type LockHolder,
  readLockHolder,
  takeProcessLock,
} from '@recount/local-postgres/process-lock';
import { CliError } from '../terminal/cli-error.ts';

/** The address of a running installation. Readable only by the data's owner, because it contains a password. */
interface InstallationPlace {
  url: string;
  databaseUrl: string;
  /** Location of the raw store. */
  rawStore: string;
}

/** The process that runs an installation; it has a place once it is ready. */
interface RunningInstallation extends Partial<InstallationPlace> {
  pid: number;
}

export interface InstallationLock {
  /** Publishes where the installation is, now that it is ready. */
  publish(place: InstallationPlace): Promise<void>;
  /** Withdraws it, because the installation is no longer ready. */
  withdraw(): Promise<void>;
  release(): Promise<void>;
}

const MAX_TRIES = 10;
const RETRY_MS = 20;
/** A lock that changes hands has its earlier holder's note for a moment. */
const NOTE_GRACE_MS = 2000;

/** The process that runs the installation holds the kernel's lock on this file for its whole life. */
const toLockPath = (path: string): string => `${path}.lock`;

/**
 * Lets this process run the installation whose place is in the file `path`. Undefined if another process runs it.
 * Throws ProcessLockError if the file system has no locks.
 */
export async function acquireLock(path: string): Promise<InstallationLock | undefined> {
  // A process that only checks the lock holds it for a moment.
  for (let count = 0; count < MAX_TRIES; count += 1) {
    if (count > 0) await sleep(RETRY_MS);
    const held = takeProcessLock(toLockPath(path));
    if (held === undefined) continue;
    const withdraw = (): Promise<void> => rm(path, { force: true });
    // A killed process left its place behind.
    await withdraw();
    return {
      publish: (place) => writeWhole(path, JSON.stringify({ pid: process.pid, ...place })),
      withdraw,
      async release() {
        await withdraw();
        held.release();
      },
    };
  }
  return undefined;
}

/**
 * The process that runs the installation, or undefined. Throws CliError if that cannot be seen from here, e.g. because
 * it is in another container.
 */
export async function findRunning(path: string, noteGraceMs = NOTE_GRACE_MS): Promise<RunningInstallation | undefined> {
  const deadlineMs = performance.now() + noteGraceMs;
  for (;;) {
    if (!isProcessLockHeld(toLockPath(path))) return undefined;
    const holder = readLockHolder(toLockPath(path));
    if (holder !== undefined && isVisible(holder)) return { ...(await readPlace(path, holder)), pid: holder.pid };
    if (performance.now() > deadlineMs) {
      throw new CliError(
        `The installation in ${dirname(path)} is run by ${describeHolder(holder)}, which is not visible from here. ` +
          'Run this command there, or stop recount there, or name another folder in RECOUNT_DATA_DIR.',
      );
    }
    await sleep(RETRY_MS);
  }
}

/** Readers see the whole content or none. */
async function writeWhole(path: string, text: string): Promise<void> {
  const temporaryPath = `${path}.${randomUUID()}`;
  await writeFile(temporaryPath, text, { mode: 0o600, flag: 'wx' });
  await rename(temporaryPath, path);
}

/** Empty if it is not ready, or the file is from an earlier process. */
async function readPlace(path: string, holder: LockHolder): Promise<Partial<InstallationPlace>> {
  try {
    const running = JSON.parse(await readFile(path, 'utf8')) as RunningInstallation | null;
    return running?.pid === holder.pid ? running : {};
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}
