import { createHash, randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { readProcessIdentity } from './process-identity.ts';

/** What the process that runs an installation tells others. For the owner of the data alone: it holds a password. */
export interface RunningInstallation {
  pid: number;
  processIdentity: string;
  /** What follows is there once it is ready. */
  url?: string;
  databaseUrl?: string;
  /** Location of the raw store. */
  rawStore?: string;
}

export interface InstallationLock {
  /** Says where the installation is, now that it is ready. */
  publish(place: { url: string; databaseUrl: string; rawStore: string }): Promise<void>;
  /** Says that it is not ready any more. */
  withdraw(): Promise<void>;
  release(): Promise<void>;
}

const MAX_TRIES = 100;
const RETRY_MS = 10;

/**
 * Makes this process the one that runs the installation, or returns the one that does. A lock whose process is gone, or
 * whose number another program has now, is taken over.
 */
export async function acquireLock(path: string): Promise<InstallationLock | RunningInstallation> {
  const processIdentity = (await readProcessIdentity(process.pid)) ?? '';
  const self = { pid: process.pid, processIdentity };
  for (let count = 0; count < MAX_TRIES; count += 1) {
    if (count > 0) await sleep(RETRY_MS);
    const holder = await tryToHold(path, JSON.stringify(self));
    if (holder === 'self') return toLock(path, self);
    if (holder !== undefined) return holder;
  }
  throw new Error(`The lock ${path} cannot be taken`);
}

/** Who holds the lock now; undefined where that has just changed and is to be looked at again. */
async function tryToHold(path: string, selfText: string): Promise<RunningInstallation | 'self' | undefined> {
  if (await createWhole(path, selfText)) return 'self';
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  return (await toLiving(text)) ?? ((await takeOver(path, text, selfText)) ? 'self' : undefined);
}

/**
 * Replaces a stale lock. Whoever does so holds a lock on that very content meanwhile, so that of many that found it stale
 * one replaces it, and none the lock of that one.
 */
async function takeOver(path: string, staleText: string, selfText: string): Promise<boolean> {
  const claimPath = `${path}.${createHash('sha256').update(staleText).digest('hex').slice(0, 16)}`;
  if ((await tryToHold(claimPath, selfText)) !== 'self') return false;
  try {
    if ((await readIfThere(path)) !== staleText) return false;
    await rename(await writeTemporary(path, selfText), path);
    return true;
  } finally {
    await rm(claimPath, { force: true });
  }
}

/** The process that runs the installation, or undefined. */
export async function findRunning(path: string): Promise<RunningInstallation | undefined> {
  const text = await readIfThere(path);
  return text === undefined ? undefined : await toLiving(text);
}

function toLock(path: string, self: RunningInstallation): InstallationLock {
  const write = async (running: RunningInstallation): Promise<void> => {
    await rename(await writeTemporary(path, JSON.stringify(running)), path);
  };
  return {
    publish: (place) => write({ ...self, ...place }),
    withdraw: () => write(self),
    async release() {
      await rm(path, { force: true });
    },
  };
}

/** Creates the file with its whole content, or not at all: readers never see a part. */
async function createWhole(path: string, text: string): Promise<boolean> {
  const temporaryPath = await writeTemporary(path, text);
  try {
    await link(temporaryPath, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(temporaryPath, { force: true });
  }
}

async function writeTemporary(path: string, text: string): Promise<string> {
  const temporaryPath = `${path}.${randomUUID()}`;
  await writeFile(temporaryPath, text, { mode: 0o600, flag: 'wx' });
  return temporaryPath;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function toLiving(text: string): Promise<RunningInstallation | undefined> {
  const running = parseRunning(text);
  const isAlive = running !== undefined && (await readProcessIdentity(running.pid)) === running.processIdentity;
  return isAlive ? running : undefined;
}

function parseRunning(text: string): RunningInstallation | undefined {
  try {
    const value = JSON.parse(text) as Partial<RunningInstallation> | null;
    const isWhole = Number.isSafeInteger(value?.pid) && typeof value?.processIdentity === 'string';
    return isWhole ? (value as RunningInstallation) : undefined;
  } catch {
    // Cut short by a crash of the machine: nobody holds it.
    return undefined;
  }
}
