import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readCommandLine } from './read-command-line.ts';

const ownerPath = (directory: string) => join(directory, 'owner.pid');

/** Whether the process that is to stop the server of this directory still runs. */
export async function hasLivingOwner(directory: string): Promise<boolean> {
  try {
    const pid = Number(await readFile(ownerPath(directory), 'utf8'));
    return Number.isSafeInteger(pid) && pid > 0 && (await readCommandLine(pid)) !== undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Notes that this process is the one to stop the server of this directory. */
export async function becomeOwner(directory: string): Promise<void> {
  await writeFile(ownerPath(directory), String(process.pid));
}
