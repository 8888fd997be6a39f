import { open } from 'node:fs/promises';

/**
 * Makes new and renamed entries of a directory durable. Windows cannot open directories, and NTFS journals such changes
 * itself.
 */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
