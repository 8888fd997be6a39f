import { existsSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** The folder and its parents that do not exist yet, outermost first, those that creating it would create. */
export function listMissingFolders(path: string): string[] {
  const missing: string[] = [];
  for (let folder = resolve(path); !existsSync(folder) && dirname(folder) !== folder; folder = dirname(folder)) {
    missing.unshift(folder);
  }
  return missing;
}

/** Removes the folders that are empty, or become empty as the folders within them are removed. */
export async function removeEmptyFolders(paths: readonly string[]): Promise<void> {
  for (const path of [...new Set(paths)].sort((a, b) => b.length - a.length)) {
    // It is not empty, gone, a link, or protected, so it is no longer ours.
    await rmdir(path).catch(() => undefined);
  }
}
