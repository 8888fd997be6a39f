import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { readCommandLine } from './read-command-line.ts';

const removal = { recursive: true, force: true, maxRetries: 5, retryDelay: 200 } as const;

async function removeAbandonedBuilds(path: string): Promise<void> {
  for (const entry of await readdir(dirname(path))) {
    if (!entry.startsWith(`${basename(path)}.`)) continue;
    const builderPid = /\.(\d+)-[0-9a-f]+\.tmp$/.exec(entry)?.[1];
    if (builderPid === undefined || (await readCommandLine(Number(builderPid))) !== undefined) continue;
    await rm(join(dirname(path), entry), removal);
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whether the directory took this name; false where another process was first. */
async function tookName(temporaryPath: string, path: string): Promise<boolean> {
  try {
    await rename(temporaryPath, path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Builds a directory under a temporary name and renames it, so that `path` is either absent or complete, whenever the
 * process is killed. Of several processes that build it at once the first wins and the others drop their own.
 * What killed builders left beside it is removed. The parent directory must exist.
 */
export async function buildDirectory(path: string, build: (temporaryPath: string) => Promise<void>): Promise<void> {
  await removeAbandonedBuilds(path);
  const temporaryPath = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  try {
    await mkdir(temporaryPath);
    await build(temporaryPath);
    if (await tookName(temporaryPath, path)) await syncDirectory(dirname(path));
  } finally {
    await rm(temporaryPath, removal);
  }
}
