import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
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

const MAX_TRIES = 10;

/**
 * Makes this process the one that runs the installation, or returns the one that does. A lock whose process is gone, or
 * whose number another program has now, is taken over.
 */
export async function acquireLock(path: string): Promise<InstallationLock | RunningInstallation> {
  const processIdentity = (await readProcessIdentity(process.pid)) ?? '';
  const self = { pid: process.pid, processIdentity };
  for (let count = 1; ; count += 1) {
    if (await createWhole(path, JSON.stringify(self))) return toLock(path, self);
    const text = await readIfThere(path);
    const running = text === undefined ? undefined : await toLiving(text);
    if (running !== undefined) return running;
    if (count === MAX_TRIES) throw new Error(`The lock ${path} cannot be taken`);
    if (text !== undefined) await removeIfSame(path, text);
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

/** Another process may have taken the stale lock over since it was read: what was moved away by mistake goes back. */
async function removeIfSame(path: string, text: string): Promise<void> {
  const movedPath = `${path}.${randomUUID()}`;
  try {
    await rename(path, movedPath);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    if ((await readFile(movedPath, 'utf8')) !== text) await link(movedPath, path);
  } finally {
    await rm(movedPath, { force: true });
  }
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
