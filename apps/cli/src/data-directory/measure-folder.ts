import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Total size of all files below a folder; 0 if it does not exist. */
export async function measureFolder(path: string): Promise<number> {
  let size = 0;
  try {
    for (const entry of await readdir(path, { withFileTypes: true, recursive: true })) {
      // Files of a running database come and go.
      if (entry.isFile())
        size += await stat(join(entry.parentPath, entry.name)).then(
          (file) => file.size,
          () => 0,
        );
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return size;
}
