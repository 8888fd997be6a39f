import { open } from 'node:fs/promises';

/** Makes durable what was named or renamed in a directory. Windows opens no directories, and logs such changes itself. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
