import { existsSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** The folder and those above it that are not there yet, the outermost first: what making it would make. */
export function listMissingFolders(path: string): string[] {
  const missing: string[] = [];
  for (let folder = resolve(path); !existsSync(folder) && dirname(folder) !== folder; folder = dirname(folder)) {
    missing.unshift(folder);
  }
  return missing;
}

/** Removes those of the folders that are empty, once those within them are gone. Others stay. */
export async function removeEmptyFolders(paths: readonly string[]): Promise<void> {
  for (const path of [...new Set(paths)].sort((a, b) => b.length - a.length)) {
    // Not empty, gone, a link by now, or not to be changed: then it is not ours any more.
    await rmdir(path).catch(() => undefined);
  }
}
