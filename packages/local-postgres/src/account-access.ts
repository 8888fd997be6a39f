import { dirname } from 'node:path';
import type { ServerAccount } from './server-account.ts';

export interface FileMode {
  /** As in stat(2): permission bits in the lowest nine bits. */
  mode: number;
  uid: number;
  gid: number;
}

/** Reads the mode of a path, following symbolic links. */
export type ReadFileMode = (path: string) => Promise<FileMode>;

const readBit = 0o4;
const traverseBit = 0o1;

function hasPermission(file: FileMode, account: ServerAccount, bits: number): boolean {
  const shift = file.uid === account.uid ? 6 : file.gid === account.gid ? 3 : 0;
  return ((file.mode >> shift) & bits) === bits;
}

/** Whether the account may traverse every directory above the absolute path. Access control lists are not considered. */
export async function isReachable(readFileMode: ReadFileMode, path: string, account: ServerAccount): Promise<boolean> {
  const parent = dirname(path);
  if (parent === path) return true;
  if (!hasPermission(await readFileMode(parent), account, traverseBit)) return false;
  return isReachable(readFileMode, parent, account);
}

/** Whether the account may reach the absolute path and then read and execute it (a program) or list and traverse it (a directory). */
export async function isUsable(readFileMode: ReadFileMode, path: string, account: ServerAccount): Promise<boolean> {
  return (
    hasPermission(await readFileMode(path), account, readBit | traverseBit) &&
    (await isReachable(readFileMode, path, account))
  );
}
