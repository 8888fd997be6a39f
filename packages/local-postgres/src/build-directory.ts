import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const removal = { recursive: true, force: true, maxRetries: 5, retryDelay: 200 } as const;

async function removeAbandonedBuilds(path: string): Promise<void> {
  const prefix = `${basename(path)}.`;
  for (const entry of await readdir(dirname(path))) {
    if (entry.startsWith(prefix) && entry.endsWith('.tmp')) await rm(join(dirname(path), entry), removal);
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

/**
 * Builds a directory under a temporary name and renames it, so that `path` is either absent or complete, whenever the
 * process is killed. What killed builders left beside it is removed. The caller holds a lock, so that no other process
 * builds it, and has looked that `path` is absent. The parent directory must exist.
 */
export async function buildDirectory(path: string, build: (temporaryPath: string) => Promise<void>): Promise<void> {
  await removeAbandonedBuilds(path);
  const temporaryPath = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  try {
    await mkdir(temporaryPath);
    await build(temporaryPath);
    await rename(temporaryPath, path);
    await syncDirectory(dirname(path));
  } finally {
    await rm(temporaryPath, removal);
  }
}
