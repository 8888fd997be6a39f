import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { StoreSpace } from './raw-store.ts';

/**
 * The room on the disk that `path`, an absolute one, lies on; where nothing is there yet, that of the folder above it.
 * Rejects with the system's error.
 */
export async function readDiskSpace(path: string): Promise<StoreSpace> {
  try {
    const { bavail, blocks, bsize } = await statfs(path);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(path) !== path;
    if (!isAbsent) throw error;
    return await readDiskSpace(dirname(path));
  }
}
